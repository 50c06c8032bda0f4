import { x } from 'https://example.com/x.js';
console.log(x);
