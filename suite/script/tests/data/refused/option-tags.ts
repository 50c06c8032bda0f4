import { describe } from 'muster';
describe('a', { tags: ['x', ' y'] }, () => {});
