const list: unknown[] = [];
for (;;) list.push(new Array(10000).fill(1));
