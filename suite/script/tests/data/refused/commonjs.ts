const { test } = require('muster');
module.exports = {};
