//! The step of the guard line that signs people in.

use svc_auth::SignInAdditions;

use crate::compiled_channel::CompiledChannel;
use crate::guards::passage::{GuardRefusal, MessageSource, Passage};
use crate::request::Delivery;

/// Members of the query that are used up by then, and are nothing for a trace.
const USED_UP: [&str; 2] = ["code", "state"];

impl CompiledChannel {
    /// Begins a sign-in, whose answer ends the way, or completes one.
    pub(in crate::guards) async fn sign_in(&self, passage: &mut Passage<'_>) -> Result<(), GuardRefusal> {
        let (Some(guard), MessageSource::Request(request)) = (&self.guards.sign_in, &mut passage.source)
        else {
            return Ok(());
        };
        if request.delivery == Delivery::Sync && request.pause.is_some() {
            // Refused behind the guards: nobody is sent away for it, and no code is used up.
            return Ok(());
        }
        if !request.is_callback {
            if guard.runs_on_authorize() {
                passage.signed_in = Some(Box::new(guard.describe(&self.name, request, &self.services)?));
                return Ok(());
            }
            let additions = SignInAdditions::default();
            passage.answer = Some(guard.begin(&self.name, request, &additions, &self.services).await?);
            return Ok(());
        }
        let outcome = guard.complete(&self.name, request, &self.services).await?;
        for name in USED_UP {
            request.query.remove(name);
        }
        passage.signed_in = Some(Box::new(outcome));
        Ok(())
    }
}
