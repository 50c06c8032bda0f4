//! Pictures: small, and with secure fields blackened.

use muster_engine::EngineError;
use muster_proto::guard::Guard;
use muster_suite::locator::Locator;

use crate::support::*;

#[tokio::test]
async fn a_picture_shows_no_secure_field_and_leaves_the_page_as_it_was() {
    let page = |value: &str| {
        format!(
            "<input id=a data-testid=a type=password style='color: red' value='{value}'>
             <iframe srcdoc=\"<input id=b autocomplete=one-time-code value='{value}'>\"></iframe>"
        )
    };
    let field = test_id("a");
    let stage = Stage::showing(&page("hunter2222")).await;
    let first = stage.page.screenshot(SOON).await.unwrap();
    let found = stage
        .page
        .find(&Locator { steps: vec![field] }, Some("style"), SOON)
        .await
        .unwrap();
    assert_eq!(found[0].attribute.as_deref(), Some("color: red"));
    stage.show(&page("1")).await;
    let second = stage.page.screenshot(SOON).await.unwrap();
    assert!(first == second, "the fields' values make no difference");
    stage.show("<input id=a value='hunter2222'>").await;
    let plain = stage.page.screenshot(SOON).await.unwrap();
    stage.show("<input id=a value='1'>").await;
    assert!(
        plain != stage.page.screenshot(SOON).await.unwrap(),
        "plain fields are shown"
    );
}

#[tokio::test]
async fn a_field_that_undoes_its_mask_closes_the_picture() {
    let stage = Stage::showing(
        "<input id=a type=password value=hunter2222><script>
           new MutationObserver(() => a.removeAttribute('style')).observe(a, { attributes: true, attributeFilter: ['style'] });
         </script>",
    )
    .await;
    let refused = stage.page.screenshot(SOON).await;
    assert!(
        matches!(
            refused,
            Err(EngineError::Unfit {
                guard: Guard::PixelsMasked,
                ..
            })
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_photo_is_smaller_as_jpeg() {
    let stage = Stage::showing("<p>plain</p>").await;
    let plain = stage.page.screenshot(SOON).await.unwrap();
    assert!(plain.starts_with(b"\x89PNG"));
    stage
        .show(
            "<canvas id=c width=1200 height=700></canvas><script>
               const g = c.getContext('2d'), d = g.createImageData(1200, 700);
               let seed = 1;
               for (let i = 0; i < d.data.length; i++) { seed = seed * 16807 % 2147483647; d.data[i] = i % 4 === 3 ? 255 : seed & 255; }
               g.putImageData(d, 0, 0);
             </script>",
        )
        .await;
    let photo = stage.page.screenshot(SOON).await.unwrap();
    assert!(photo.starts_with(&[0xff, 0xd8]));
}
