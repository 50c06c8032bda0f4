// Toasts, adding to the cart without leaving the page, native dialogs, forms that send themselves,
// and the star rating in its shadow root.

const TOAST_MS = 8000;

function toast(text) {
  const region = document.querySelector('.toasts');
  setTimeout(() => {
    const message = document.createElement('p');
    message.textContent = text;
    region.append(message);
    setTimeout(() => message.remove(), TOAST_MS);
  }, Number(region.dataset.delay));
}

async function add(event) {
  event.preventDefault();
  const form = event.target;
  const response = await fetch(form.action, {
    method: 'POST',
    body: new URLSearchParams(new FormData(form)),
  });
  const answer = await response.json();
  const error = form.querySelector('[data-error]');
  if (error) error.textContent = answer.error ?? '';
  if (response.ok) {
    document.querySelector('.count').textContent = answer.count;
    toast(answer.toast);
  }
}

class StarRating extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: 'open' });
    const stars = [1, 2, 3, 4, 5].map((n) =>
      `<label><input type="radio" name="stars" value="${n}"> ${n} star${n === 1 ? '' : 's'}</label>`);
    root.innerHTML = `
      <style>
        form { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; }
        fieldset { border: 0; padding: 0; margin: 0; display: flex; gap: .75rem; }
        legend { float: left; margin-right: .75rem; }
        button { font: inherit; padding: .35rem .9rem; border: 1px solid #2f5d46; border-radius: 6px;
          background: #fff; color: #2f5d46; cursor: pointer; }
      </style>
      <form>
        <fieldset><legend>Your rating</legend>${stars.join('')}</fieldset>
        <button>Send rating</button>
        <span role="status"></span>
      </form>`;
    this.show(Number(this.dataset.rated));
    root.querySelector('form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.send();
    });
  }

  async send() {
    const chosen = this.shadowRoot.querySelector('input:checked');
    if (!chosen) {
      this.say('Choose a number of stars first.');
      return;
    }
    const stars = Number(chosen.value);
    const response = await fetch(`/product/${this.dataset.product}/rating`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ stars }),
    });
    if (response.ok) this.show(stars);
    else this.say('That did not work. Try again.');
  }

  show(stars) {
    if (!stars) return;
    this.shadowRoot.querySelector(`input[value="${stars}"]`).checked = true;
    this.say(`You gave it ${stars} of 5.`);
  }

  say(text) {
    this.shadowRoot.querySelector('[role=status]').textContent = text;
  }
}

customElements.define('star-rating', StarRating);

for (const form of document.querySelectorAll('form[data-add]')) form.addEventListener('submit', add);

for (const form of document.querySelectorAll('form[data-autosubmit]')) {
  form.addEventListener('change', () => form.requestSubmit());
}

for (const button of document.querySelectorAll('button[data-dialog]')) {
  button.addEventListener('click', () => document.getElementById(button.dataset.dialog).showModal());
}

for (const dialog of document.querySelectorAll('dialog[data-open]')) dialog.showModal();

const waiting = document.querySelector('.toasts[data-toast]');
if (waiting) toast(waiting.dataset.toast);
