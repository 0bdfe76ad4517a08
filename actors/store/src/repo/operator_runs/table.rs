//! The statements of the columns that each kind of runs has.

/// Implements `RunTable` for a kind of runs: its table, the struct of the columns that are read, and the run made of
/// them.
macro_rules! run_table {
    ($table:ident: $columns:ty => $run:ty) => {
        impl $crate::repo::operator_runs::RunTable for $run {
            const NAME: &'static str = stringify!($table);

            fn id(&self) -> &str {
                &self.id
            }

            fn state(&self) -> &str {
                &self.state
            }

            fn started_by(&self) -> &str {
                &self.started_by
            }

            fn set_state(&mut self, state: $crate::repo::operator_runs::OperatorRunState) {
                self.state = state.name().to_owned();
            }

            fn set_ended_at(&mut self, at: svc_model::Timestamp) {
                self.ended_at = Some(at);
            }

            fn matches_claim(&self, claim: &$crate::repo::operator_runs::OperatorRunClaim) -> bool {
                self.holder.as_deref() == Some(&*claim.holder) && self.position == claim.position
            }

            fn get<'c>(
                conn: &'c mut $crate::conn::Conn,
                id: &'c str,
            ) -> $crate::repo::operator_runs::RunFuture<'c, Option<Self>> {
                Box::pin(async move {
                    let row = $table::table.find(id).select(
                        <$columns as Selectable<diesel::sqlite::Sqlite>>::construct_selection(),
                    );
                    let row: Option<$columns> =
                        $crate::conn::on!(conn, c => row.first(c).await.optional())?;
                    Ok(row.map(Self::from))
                })
            }

            fn lock<'c>(
                conn: &'c mut $crate::conn::Conn,
                id: &'c str,
            ) -> $crate::repo::operator_runs::RunFuture<'c, Option<Self>> {
                Box::pin(async move {
                    let $crate::conn::Conn::Postgres(c) = conn else {
                        return Self::get(conn, id).await;
                    };
                    let row = $table::table.find(id).select(
                        <$columns as Selectable<diesel::sqlite::Sqlite>>::construct_selection(),
                    );
                    let row: Option<$columns> = row.for_update().first(&mut **c).await.optional()?;
                    Ok(row.map(Self::from))
                })
            }

            fn list(
                conn: &mut $crate::conn::Conn,
                page: svc_model::Page,
            ) -> $crate::repo::operator_runs::RunFuture<'_, (Vec<Self>, i64)> {
                Box::pin(async move {
                    let rows = $table::table
                        .select(
                            <$columns as Selectable<diesel::sqlite::Sqlite>>::construct_selection(),
                        )
                        .order(($table::started_at.desc(), $table::id.desc()))
                        .limit(page.limit)
                        .offset(page.offset);
                    let rows: Vec<$columns> = $crate::conn::on!(conn, c => rows.load(c).await)?;
                    let total: i64 =
                        $crate::conn::on!(conn, c => $table::table.count().get_result(c).await)?;
                    let runs: Vec<Self> = rows.into_iter().map(Self::from).collect();
                    Ok((runs, total))
                })
            }

            fn list_open(
                conn: &mut $crate::conn::Conn,
            ) -> $crate::repo::operator_runs::RunFuture<'_, Vec<String>> {
                Box::pin(async move {
                    let open = $table::table
                        .filter($table::state.eq_any($crate::repo::operator_runs::OPEN_STATES))
                        .order(($table::started_at.asc(), $table::id.asc()))
                        .select($table::id);
                    let ids: Vec<String> = $crate::conn::on!(conn, c => open.load(c).await)?;
                    Ok(ids)
                })
            }

            fn take<'c>(
                conn: &'c mut $crate::conn::Conn,
                id: &'c str,
                holder: &'c str,
                now: chrono::NaiveDateTime,
                lease: std::time::Duration,
            ) -> $crate::repo::operator_runs::RunFuture<'c, bool> {
                Box::pin(async move {
                    let dead_holder = $crate::schema::nodes::table
                        .filter($crate::schema::nodes::id.nullable().eq($table::holder))
                        .filter($crate::schema::nodes::lease_until.lt(now));
                    let free = $table::table
                        .find(id)
                        .filter($table::state.eq_any($crate::repo::operator_runs::OPEN_STATES))
                        .filter(
                            $table::holder
                                .is_null()
                                .or($table::holder.eq(holder))
                                .or($table::held_until.lt(now))
                                .or(diesel::dsl::exists(dead_holder)),
                        );
                    let held = (
                        $table::holder.eq(holder),
                        $table::held_until
                            .eq($crate::clock::FromNow::seconds(lease.as_secs_f64()).nullable()),
                    );
                    let taken =
                        $crate::conn::on!(conn, c => diesel::update(free).set(held).execute(c).await)?;
                    Ok(taken > 0)
                })
            }

            fn renew<'c>(
                conn: &'c mut $crate::conn::Conn,
                id: &'c str,
                lease: std::time::Duration,
            ) -> $crate::repo::operator_runs::RunFuture<'c, ()> {
                Box::pin(async move {
                    let held = $table::held_until
                        .eq($crate::clock::FromNow::seconds(lease.as_secs_f64()).nullable());
                    let row = $table::table.find(id);
                    $crate::conn::on!(conn, c => diesel::update(row).set(held).execute(c).await)?;
                    Ok(())
                })
            }

            fn delete_ended(
                conn: &mut $crate::conn::Conn,
                before: chrono::NaiveDateTime,
                chunk: i64,
            ) -> $crate::repo::operator_runs::RunFuture<'_, u64> {
                Box::pin(async move {
                    let ended = $table::table
                        .filter($table::ended_at.lt(before))
                        .order($table::started_at.asc())
                        .limit(chunk)
                        .select($table::id);
                    let ids: Vec<String> = $crate::conn::on!(conn, c => ended.load(c).await)?;
                    let deleted = $crate::conn::on!(conn, c => {
                        diesel::delete($table::table.filter($table::id.eq_any(ids))).execute(c).await
                    })?;
                    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
                })
            }
        }
    };
}
pub(in crate::repo) use run_table;
