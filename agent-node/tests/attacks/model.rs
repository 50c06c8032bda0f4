//! A model that was won over.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use muster_providers::model::{
    ModelClient, ModelError, ModelInfo, ModelReply, ModelRequest, ToolCall,
};
use serde_json::Value;

/// A tool's name and its input.
pub(crate) type Wish = (&'static str, Value);

/// What is wished for in a turn, by what the model sees.
type Wishes = dyn Fn(usize, &ModelRequest) -> Vec<Wish> + Send + Sync;

/// Says what the attacker wants, turn by turn, and keeps what it was asked.
pub(crate) struct Hostile {
    wishes: Box<Wishes>,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Hostile {
    /// `wishes` is told the turn's number, from 0, and all that the model sees.
    pub(crate) fn new(
        wishes: impl Fn(usize, &ModelRequest) -> Vec<Wish> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            wishes: Box::new(wishes),
            asked: Mutex::default(),
        })
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl ModelClient for Hostile {
    async fn complete(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let turn = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request.clone());
            asked.len() - 1
        };
        let calls = (self.wishes)(turn, request).into_iter().enumerate();
        Ok(ModelReply {
            text: String::new(),
            calls: calls
                .map(|(at, (name, input))| ToolCall {
                    id: format!("t{turn}c{at}"),
                    name: name.to_owned(),
                    input: input.to_string(),
                })
                .collect(),
            usage: None,
            requests: 1,
            ..ModelReply::default()
        })
    }

    fn info(&self) -> ModelInfo {
        ModelInfo {
            provider: "hostile",
            model: "hostile".to_owned(),
            vision: true,
        }
    }
}
