//! Tests as people write them, and what becomes of them.

use crate::support::{Parent, Project};

#[tokio::test]
async fn smoke() {
    let project = Project::of(
        "import { test, expect } from 'muster';\n\ntype X = { a: number };\ntest('opens', async ({ app, screen }) => {\n  await app.open('/');\n  await expect(screen.getByRole('heading', 'Shop')).toBeVisible();\n  console.log('hi', { a: 1 } satisfies X);\n});\n",
    );
    let heard = project.run("opens", Parent::default()).await;
    println!("{:#?}", heard.frames);
    assert_eq!(heard.story(), ["passed"]);
}
