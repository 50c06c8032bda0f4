import { x } from '../../secret';
console.log(x);
