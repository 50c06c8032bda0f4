// What tests import, for editors. Copy it into a project or name it in tsconfig.json "types".

declare module 'muster' {
  /** Text compared whole and case-sensitive with white space folded, or a pattern. */
  export type Text = string | RegExp;

  export interface Timeout {
    /** Milliseconds; default from `[timeouts]` in muster.toml. */
    timeout?: number;
  }

  // Declaring tests.

  export interface Fixtures {
    readonly app: App;
    readonly screen: Queries;
    readonly agent: Agent;
    readonly browser: Browser;
  }

  export type Body = (fixtures: Fixtures) => unknown;

  export interface TestOptions {
    /** Milliseconds for beforeEach hooks and body together; the innermost wins. */
    timeout?: number;
    /** 0 to 10; the innermost wins. */
    retries?: number;
    /** Added to those of the groups around. */
    tags?: string[];
    /** Whether, or why, it doesn't run. */
    skip?: boolean | string;
    /** Runs only tests marked so; refused on build machines. */
    only?: boolean;
    /** Name of a configured agent, or several: the test runs once under each. */
    agent?: string | string[];
  }

  interface Declare<F> {
    (title: string, fn: F): void;
    (title: string, options: TestOptions, fn: F): void;
  }

  interface Test extends Declare<Body> {
    readonly only: Declare<Body>;
    readonly skip: Declare<Body> & {
      /** In a test: ends it as skipped if the condition holds. */
      (condition?: boolean, reason?: string): void;
    };
    readonly describe: Describe;
    readonly beforeEach: (fn: Body) => void;
    readonly afterEach: (fn: Body) => void;
  }

  interface Describe extends Declare<() => void> {
    readonly only: Declare<() => void>;
    readonly skip: Declare<() => void>;
  }

  export const test: Test;
  export const describe: Describe;
  export function beforeEach(fn: Body): void;
  /** Runs after every test, whatever became of it, each hook with its own time. */
  export function afterEach(fn: Body): void;
  /** @deprecated Not available yet: using it is an error when tests are collected. */
  export function beforeAll(...args: never[]): never;
  /** @deprecated Not available yet: using it is an error when tests are collected. */
  export function afterAll(...args: never[]): never;

  // The app and the browser.

  export interface App {
    readonly baseUrl: string;
    /** Opens the app's address joined with `path`. */
    open(path?: string): Promise<void>;
    back(): Promise<void>;
    /** Forgets cookies and storage; the page goes blank. */
    clearState(): Promise<void>;
  }

  export interface Browser {
    goto(url: string, options?: Timeout): Promise<void>;
    reload(): Promise<void>;
    back(): Promise<void>;
    forward(): Promise<void>;
    url(): Promise<string>;
    title(): Promise<string>;
    /** Waits for the whole address (relative ones resolve on the app's) or a pattern on it. */
    waitForURL(url: Text, options?: Timeout): Promise<void>;
  }

  // Locators.

  export type Role =
    | 'button' | 'link' | 'textbox' | 'searchbox' | 'combobox' | 'listbox' | 'option' | 'checkbox' | 'radio'
    | 'radiogroup' | 'switch' | 'slider' | 'spinbutton' | 'progressbar' | 'meter' | 'image' | 'img' | 'heading'
    | 'tab' | 'tablist' | 'tabpanel' | 'menu' | 'menubar' | 'menuitem' | 'menuitemcheckbox' | 'menuitemradio'
    | 'toolbar' | 'tooltip' | 'tree' | 'treeitem' | 'list' | 'listitem' | 'table' | 'grid' | 'row' | 'rowgroup'
    | 'rowheader' | 'cell' | 'gridcell' | 'columnheader' | 'separator' | 'group' | 'article' | 'figure' | 'form'
    | 'status' | 'alert' | 'dialog' | 'alertdialog' | 'main' | 'navigation' | 'banner' | 'contentinfo'
    | 'complementary' | 'region';

  export interface Visible {
    /** Leaves hidden twins out before anything is compared. */
    visible?: boolean;
  }

  export interface TextOptions extends Visible {
    /** False: any part, in any case. Default true. */
    exact?: boolean;
  }

  export interface RoleOptions extends TextOptions {
    name?: Text;
    checked?: boolean;
    disabled?: boolean;
    selected?: boolean;
    expanded?: boolean;
    pressed?: boolean;
    /** Of a heading, 1 to 6. */
    level?: number;
  }

  export interface Queries {
    getByRole(role: Role, options?: RoleOptions): Locator;
    getByRole(role: Role, name: Text, options?: Omit<RoleOptions, 'name'>): Locator;
    getByLabel(label: Text, options?: TextOptions): Locator;
    getByText(text: Text, options?: TextOptions): Locator;
    getByPlaceholder(placeholder: Text, options?: TextOptions): Locator;
    /** By `data-testid`, exact. */
    getByTestId(id: string, options?: Visible): Locator;
  }

  export interface Locator extends Queries {
    /** `hasText` is a part in any case, or a pattern, over all text within. */
    filter(options: { hasText?: Text; has?: Locator }): Locator;
    first(): Locator;
    last(): Locator;
    /** From 0. */
    nth(index: number): Locator;

    tap(options?: Timeout): Promise<void>;
    /** The same as tap(). */
    click(options?: Timeout): Promise<void>;
    /** Replaces the field's text. */
    fill(value: string | Secret, options?: Timeout): Promise<void>;
    clear(options?: Timeout): Promise<void>;
    /** Focuses, then presses a key such as `Enter`, `Control+A` or `a`. */
    press(key: string, options?: Timeout): Promise<void>;
    check(options?: Timeout): Promise<void>;
    uncheck(options?: Timeout): Promise<void>;
    selectOption(choice: string | { label: string } | { value: string } | { index: number }, options?: Timeout): Promise<void>;
    /** Project-relative paths of files that `[bundle] include` names. */
    setInputFiles(files: string | string[], options?: Timeout): Promise<void>;
    hover(options?: Timeout): Promise<void>;
    focus(options?: Timeout): Promise<void>;
    scrollIntoView(options?: Timeout): Promise<void>;
    waitFor(options?: Timeout & { state?: 'visible' | 'hidden' }): Promise<void>;

    textContent(): Promise<string | null>;
    inputValue(): Promise<string>;
    getAttribute(name: string): Promise<string | null>;
    isEnabled(): Promise<boolean>;
    isChecked(): Promise<boolean>;
    isVisible(): Promise<boolean>;
    isHidden(): Promise<boolean>;
    count(): Promise<number>;
    allTextContents(): Promise<string[]>;
    boundingBox(): Promise<{ x: number; y: number; width: number; height: number } | null>;
    /** One locator for each match there is now. */
    all(): Promise<Locator[]>;
  }

  // Goals and judgments.

  export interface AgentOptions extends Timeout {
    /** Name of a configured agent; default: the test's. */
    agent?: string;
  }

  export interface JudgmentOptions extends AgentOptions {
    /**
     * What is judged: the screen's text (false, the default), its text and a picture (true), or a picture
     * alone ('only'). Needs a model that takes pictures.
     */
    vision?: boolean | 'only';
  }

  export interface GoalOptions extends AgentOptions {
    /** Values for the goal; secrets and unique() texts may be among them. */
    params?: Record<string, unknown>;
    /** 1 to 100; can only lower what is configured. */
    maxSteps?: number;
    /** 1 to 100; can only lower what is configured. */
    maxModelCalls?: number;
  }

  export interface GoalResult {
    summary: string;
    modelCalls: number;
    decisions: number;
    actions: number;
    /** How the goal met the cache. */
    cache: unknown;
  }

  export interface Agent {
    /** Reaches a goal; a check after it lets its recording replay. */
    act(goal: string, options?: GoalOptions): Promise<GoalResult>;
    /** Fails unless a judge model says that the statement holds on the screen. */
    assert(statement: string, options?: JudgmentOptions): Promise<void>;
    /** Looks again every `interval` milliseconds (3000) until the statement holds. */
    waitFor(statement: string, options?: JudgmentOptions & { interval?: number; maxModelCalls?: number }): Promise<void>;
    /** Reads data off the screen; `schema` is a JSON Schema. */
    extract<T = unknown>(what: string, options: JudgmentOptions & { schema: object }): Promise<T>;
  }

  // Checks.

  export interface LocatorChecks {
    /** Wants the opposite, held for a second. */
    readonly not: LocatorChecks;
    toBeVisible(options?: Timeout): Promise<void>;
    toBeHidden(options?: Timeout): Promise<void>;
    toBeAttached(options?: Timeout): Promise<void>;
    toBeEnabled(options?: Timeout): Promise<void>;
    toBeDisabled(options?: Timeout): Promise<void>;
    toBeChecked(options?: Timeout): Promise<void>;
    toBeSelected(options?: Timeout): Promise<void>;
    toBeExpanded(options?: Timeout): Promise<void>;
    toBeFocused(options?: Timeout): Promise<void>;
    /** Whole text; a list compares every match in order. */
    toHaveText(text: Text | Text[], options?: Timeout): Promise<void>;
    /** Part of the text; a list compares every match in order. */
    toContainText(text: Text | Text[], options?: Timeout): Promise<void>;
    /** A field's raw value. */
    toHaveValue(value: Text, options?: Timeout): Promise<void>;
    toHaveAttribute(name: string, options?: Timeout): Promise<void>;
    toHaveAttribute(name: string, value: Text, options?: Timeout): Promise<void>;
    toHaveCount(count: number, options?: Timeout): Promise<void>;
    toHaveAccessibleName(name: Text, options?: Timeout): Promise<void>;
    toHaveClass(name: Text, options?: Timeout): Promise<void>;
  }

  export interface BrowserChecks {
    readonly not: BrowserChecks;
    toHaveURL(url: Text, options?: Timeout): Promise<void>;
    toHaveTitle(title: Text, options?: Timeout): Promise<void>;
  }

  /** `R` is void for values at hand and a promise for polled ones. */
  export interface ValueChecks<R> {
    readonly not: ValueChecks<R>;
    toBe(value: unknown): R;
    toEqual(value: unknown): R;
    toMatchObject(part: object): R;
    toBeTruthy(): R;
    toBeFalsy(): R;
    toBeNull(): R;
    toBeUndefined(): R;
    toBeDefined(): R;
    toHaveLength(length: number): R;
    toHaveProperty(path: string | string[], value?: unknown): R;
    toContain(item: unknown): R;
    toMatch(pattern: Text): R;
    toBeGreaterThan(than: number | bigint): R;
    toBeGreaterThanOrEqual(than: number | bigint): R;
    toBeLessThan(than: number | bigint): R;
    toBeLessThanOrEqual(than: number | bigint): R;
    toBeCloseTo(near: number, digits?: number): R;
  }

  interface Subjects {
    (locator: Locator): LocatorChecks;
    (browser: Browser): BrowserChecks;
    (value: unknown): ValueChecks<void>;
  }

  interface Expect extends Subjects {
    /** The failure is kept, the test goes on and fails at its end. */
    readonly soft: Subjects;
    /** Reads again every `interval` milliseconds (100) until the check holds or `timeout` (5000) is over. */
    poll(
      read: () => unknown,
      options?: Timeout & { interval?: number; message?: string },
    ): ValueChecks<Promise<void>>;
    any(type: Function): unknown;
    anything(): unknown;
    objectContaining(part: object): unknown;
    arrayContaining(items: unknown[]): unknown;
    stringContaining(part: string): unknown;
    stringMatching(pattern: Text): unknown;
  }

  export const expect: Expect;

  // Data.

  /** A declared secret: it can be filled in and handed to goals; it can't become text. */
  export interface Secret {
    readonly name: string;
  }

  export const secrets: {
    /** The secret that muster.toml declares under `name`. */
    get(name: string): Secret;
  };

  /** `value` with a random suffix that fits its shape; recordings replay with the next one. */
  export function unique(value: string): string;

  /** What steps and checks throw. */
  export class MusterError extends Error {
    constructor(code: string, message: string);
    /** Stable, e.g. `LOCATOR_NOT_FOUND`; each has a page in docs/errors. */
    readonly code: string;
    /** `blocked`: no verdict on the product could be reached. */
    readonly status: 'failed' | 'blocked';
    readonly blocked: boolean;
    readonly explanation: string;
    readonly expected?: string;
    readonly actual?: string;
    readonly near?: string[];
  }
}

declare module 'e2e' {
  export * from 'muster';
}
