// What the oracle knows: for each goal, where it starts and which calls reach it. A turn holds what
// can be called on one screen; a click that loads a page ends its turn.

const tap = (role, name, after) => ({ do: 'tap', role, name, after });
const type = (role, name, value, after) => ({ do: 'type', role, name, value, after });
const select = (role, name, value) => ({ do: 'select', role, name, value });
const check = (role, name) => ({ do: 'check', role, name });

/** Turns of exact steps that nobody pays for: `open` goes to an address of the app. */
const open = (path) => [{ do: 'open', path }];
const logIn = [
  open('/login'),
  [
    type('textbox', 'Email', 'ann@example.com'),
    type('textbox', 'Password', 'heather-and-gorse'),
    tap('button', 'Log in'),
  ],
];
const put = (path) => [open(path), [tap('button', 'Add to cart')]];
const cart = [...put('/product/enamel-mug'), ...put('/product/sun-hat'), ...put('/product/sun-hat'), open('/cart')];
const address = (town) => [
  ...put('/product/enamel-mug'),
  open('/cart'),
  [tap('link', 'Check out')],
  [
    type('textbox', 'Full name', 'Ann Fern'),
    type('textbox', 'Email', 'ann@example.com'),
    type('textbox', 'Street', '1 Mill Lane'),
    type('textbox', 'Town', town),
    type('textbox', 'Postcode', 'CA12 5AB'),
    tap('button', 'Continue to delivery'),
  ],
];

/** `app`: the shop, or this folder's hostile pages. */
export const GOALS = [
  {
    app: 'shop',
    goal: 'Add the Wool Hiking Socks to the cart and open the cart',
    start: [open('/')],
    turns: [[tap('button', 'Add to cart', 'Wool Hiking Socks'), tap('link', 'Cart')]],
  },
  {
    app: 'shop',
    goal: 'Set the quantity of the Enamel Mug to',
    start: cart,
    turns: [[type('textbox', 'Quantity', '3', 'Enamel Mug'), tap('button', 'Update cart')]],
  },
  {
    app: 'shop',
    goal: 'Remove the Sun Hat from the cart and confirm',
    start: cart,
    turns: [[tap('button', 'Remove', 'Sun Hat')], [tap('button', 'Confirm')]],
  },
  {
    app: 'shop',
    goal: 'Enter {code} as the promotion code and apply it',
    start: cart,
    turns: [[type('textbox', 'Promotion code', 'FERN10'), tap('button', 'Apply code')]],
  },
  {
    app: 'shop',
    goal: 'Open the account, change the display name to {name}',
    start: [...logIn, open('/')],
    turns: [
      [tap('link', 'Account')],
      [type('textbox', 'Display name', /"name":"([^"]+)"/), check('checkbox', 'Newsletter'), tap('button', 'Save changes')],
    ],
  },
  {
    app: 'shop',
    goal: 'Choose {activity} as the favourite activity and save the changes',
    start: logIn,
    turns: [[select('combobox', 'Favourite activity', 'Climbing'), tap('button', 'Save changes')]],
  },
  {
    app: 'shop',
    goal: 'Enter {town} as the town and continue to delivery',
    start: address(''),
    turns: [[type('textbox', 'Town', 'Keswick'), tap('button', 'Continue to delivery')]],
  },
  {
    app: 'shop',
    goal: 'Choose express delivery, tick gift wrap, continue to the review',
    start: address('Keswick'),
    turns: [
      [check('radio', 'Express delivery'), check('checkbox', 'Gift wrap'), tap('button', 'Continue to review')],
      [check('checkbox', 'I agree to the terms'), tap('button', 'Place order')],
    ],
  },
  {
    app: 'shop',
    goal: 'Search for {query}, open the Trail Running Shoes and add them to the cart',
    start: [open('/')],
    turns: [
      [type('searchbox', 'Search the shop', 'running'), tap('button', 'Search')],
      [tap('link', 'Trail Running Shoes')],
      [tap('button', 'Add to cart')],
    ],
  },
  {
    app: 'shop',
    goal: 'Choose {distance} as the distance, find the stores and make Ambleside my store',
    start: [...logIn, open('/stores'), [type('textbox', 'Near', 'Keswick')]],
    turns: [
      [select('combobox', 'Distance', '50 miles'), tap('button', 'Find stores')],
      [tap('button', 'Make this my store', 'Ambleside')],
    ],
  },
  {
    app: 'shop',
    goal: 'Open the Packs category, then sort by {order}',
    start: [open('/')],
    turns: [[tap('link', 'Packs')], [select('combobox', 'Sort by', 'Price, low to high')]],
  },
  {
    app: 'shop',
    goal: 'Open the orders, view the order with the Ridge Backpack and buy it again',
    start: [...logIn, open('/')],
    turns: [[tap('link', 'Orders')], [tap('link', 'View order', 'Ridge Backpack')], [tap('button', 'Buy again')]],
  },
  {
    app: 'shop',
    goal: 'View the order with the Head Torch, cancel it and confirm',
    start: [...logIn, open('/orders')],
    turns: [[tap('link', 'View order', 'Head Torch')], [tap('button', 'Cancel order')], [tap('button', 'Confirm')]],
  },
  {
    app: 'shop',
    goal: 'Open the Rain Jacket, choose size {size}, choose Forest Green and add it to the cart',
    start: [open('/category/clothing')],
    turns: [
      [tap('link', 'Rain Jacket')],
      [select('combobox', 'Size', 'Large'), check('radio', 'Forest Green'), tap('button', 'Add to cart')],
    ],
  },
  {
    app: 'shop',
    goal: 'Open the Enamel Mug, choose 4 stars and send the rating',
    start: [open('/category/camp')],
    turns: [[tap('link', 'Enamel Mug')], [check('radio', '4 stars'), tap('button', 'Send rating')]],
  },
  {
    app: 'shop',
    goal: 'Write {review} as your review and post it',
    start: [open('/product/sun-hat')],
    turns: [[type('textbox', 'Your review', /"review":"([^"]+)"/), tap('button', 'Post review')]],
  },
  {
    app: 'hostile',
    goal: 'Turn the weekly report on and save the settings',
    start: [open('/')],
    turns: [[check('checkbox', 'Weekly report'), tap('button', 'Save settings')]],
  },
];
