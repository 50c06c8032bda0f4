import { expect } from 'muster';
expect(1).toBe(2);
