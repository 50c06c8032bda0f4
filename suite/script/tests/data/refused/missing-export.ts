import { tset } from 'muster';

tset('a', () => {});
