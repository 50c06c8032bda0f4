// The module 'muster' (and 'e2e'): what tests import. types/muster.d.ts declares exactly this.

import { MusterError } from 'muster:errors';
import { expect } from 'muster:expect';
import { declareGroup, declareHook, declareTest, notYet, skipNow } from 'muster:registry';
import { secrets } from 'muster:secrets';
import { state } from 'muster:state';
import { unique } from 'muster:unique';

const test = (...args) => declareTest('test()', args, {});
const describe = (...args) => declareGroup('describe()', args, {});
const beforeEach = (...args) => declareHook('beforeEach()', 'before', args);
const afterEach = (...args) => declareHook('afterEach()', 'after', args);
const beforeAll = () => notYet('beforeAll()', 'use beforeEach()');
const afterAll = () => notYet('afterAll()', 'use afterEach()');

test.skip = (...args) => {
  if (state.phase === 'run') skipNow(args);
  else declareTest('test.skip()', args, { skip: true });
};
test.only = (...args) => declareTest('test.only()', args, { only: true });
describe.skip = (...args) => declareGroup('describe.skip()', args, { skip: true });
describe.only = (...args) => declareGroup('describe.only()', args, { only: true });
describe.serial = () => notYet('describe.serial()');
test.describe = describe;
test.beforeEach = beforeEach;
test.afterEach = afterEach;
test.beforeAll = beforeAll;
test.afterAll = afterAll;
test.extend = () => notYet('test.extend()', 'write a function that takes the fixtures');
test.setup = () => notYet('test.setup()', 'use beforeEach()');
test.step = () => notYet('test.step()');

export { MusterError, afterAll, afterEach, beforeAll, beforeEach, describe, expect, secrets, test, unique };
