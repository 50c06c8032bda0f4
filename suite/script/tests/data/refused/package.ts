import x from 'left-pad';
console.log(x);
