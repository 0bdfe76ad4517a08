//! The cursor of a schedule: the instant up to which its occurrences are recorded.

use chrono::NaiveDateTime;

/// The cursor of a schedule. Every instant before `next_fire_at` is recorded; no later one is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub channel_id: String,
    /// The newest version of the channel that has aligned the cursor.
    pub channel_version: i64,
    /// Digest of the settings that determine the instants: expression, zone, misfire policy, catch-up bound.
    pub config_hash: String,
    /// The next instant to record, in UTC.
    pub next_fire_at: NaiveDateTime,
    /// Start of the pause, in UTC; `None` while the schedule runs.
    pub paused_at: Option<NaiveDateTime>,
}

/// The request of a starting scheduler to continue from the cursor. Its version must be the active one: a
/// scheduler that does not know it must not send the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlignRequest {
    pub channel_id: String,
    /// The version that is being scheduled.
    pub version: i64,
    /// Digest of the settings that determine its instants.
    pub config_hash: String,
    /// The first instant of the schedule after now, in UTC. A cursor that starts anew starts here.
    pub next_fire_at: NaiveDateTime,
    /// A cursor before this instant (UTC) has been followed by no scheduler and starts anew.
    pub forsaken_before: Option<NaiveDateTime>,
    /// A cursor after this instant (UTC) was moved by a clock that has since been set back, and starts anew.
    pub latest: Option<NaiveDateTime>,
}

impl Cursor {
    /// Creates the cursor of a schedule that has none. It starts now and records no earlier instant.
    pub fn begin(align: &AlignRequest) -> Self {
        Self {
            channel_id: align.channel_id.clone(),
            channel_version: align.version,
            config_hash: align.config_hash.clone(),
            next_fire_at: align.next_fire_at,
            paused_at: None,
        }
    }

    /// Takes the cursor over for the active version. Returns whether it changed.
    ///
    /// The cursor keeps its position, unless the schedule was paused, the cursor was abandoned, the clock was
    /// set back, or the settings that determine the instants changed: then it starts anew. It also starts
    /// anew when it knows a newer version, because that version belonged to a deleted channel.
    pub fn align(&mut self, align: &AlignRequest) -> bool {
        let begins_anew = self.paused_at.is_some()
            || self.config_hash != align.config_hash
            || self.channel_version > align.version
            || align.forsaken_before.is_some_and(|instant| self.next_fire_at < instant)
            || align.latest.is_some_and(|instant| self.next_fire_at > instant);
        let before = self.clone();
        if begins_anew {
            *self = Self::begin(align);
        } else {
            self.channel_version = align.version;
        }
        *self != before
    }

    /// Moves the cursor from one instant to a later one. Returns whether it moved. It does not move if it is
    /// not at `from`, is paused, or belongs to a newer version.
    pub fn advance(&mut self, version: i64, from: NaiveDateTime, next: NaiveDateTime) -> bool {
        let moves = self.next_fire_at == from
            && next > from
            && self.paused_at.is_none()
            && self.channel_version <= version;
        if moves {
            self.next_fire_at = next;
            self.channel_version = version;
        }
        moves
    }

    /// Pauses the schedule. Returns whether it was running.
    pub fn pause(&mut self, now: NaiveDateTime) -> bool {
        let pauses = self.paused_at.is_none();
        if pauses {
            self.paused_at = Some(now);
        }
        pauses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_at(second: i64) -> NaiveDateTime {
        chrono::DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap().naive_utc()
    }

    fn align(version: i64, hash: &str, next: i64) -> AlignRequest {
        AlignRequest {
            channel_id: "c".into(),
            version,
            config_hash: hash.into(),
            next_fire_at: time_at(next),
            forsaken_before: None,
            latest: None,
        }
    }

    #[test]
    fn cursor_continues_unless_changed_or_paused() {
        let mut cursor = Cursor::begin(&align(1, "x", 10));
        assert!(!cursor.align(&align(1, "x", 99)));
        assert_eq!(cursor.next_fire_at, time_at(10), "a restart goes on where it stands");
        assert!(cursor.align(&align(2, "x", 99)));
        assert_eq!(
            (cursor.next_fire_at, cursor.channel_version),
            (time_at(10), 2),
            "so does an edit of the payload"
        );
        assert!(cursor.align(&align(3, "y", 99)));
        assert_eq!(cursor.next_fire_at, time_at(99), "an edit of the schedule begins anew");
        assert!(cursor.pause(time_at(100)) && !cursor.pause(time_at(101)));
        assert!(cursor.align(&align(3, "y", 200)));
        assert_eq!((cursor.next_fire_at, cursor.paused_at), (time_at(200), None));
    }

    #[test]
    fn node_unaware_of_a_change_reverts_nothing() {
        let mut cursor = Cursor::begin(&align(2, "new", 10));
        let before = cursor.clone();
        assert!(!cursor.advance(1, time_at(10), time_at(20)));
        assert_eq!(cursor, before);
    }

    #[test]
    fn cursor_of_newer_version_belonged_to_another_channel() {
        let mut cursor = Cursor::begin(&align(3, "x", 10));
        assert!(cursor.align(&align(1, "x", 99)));
        assert_eq!((cursor.channel_version, cursor.next_fire_at), (1, time_at(99)));
    }

    #[test]
    fn only_abandoned_cursor_begins_anew() {
        let mut cursor = Cursor::begin(&align(1, "x", 10));
        let back = |forsaken| AlignRequest { forsaken_before: Some(time_at(forsaken)), ..align(1, "x", 99) };
        assert!(!cursor.align(&back(10)));
        assert!(cursor.align(&back(11)));
        assert_eq!(cursor.next_fire_at, time_at(99));
    }

    #[test]
    fn only_cursor_beyond_latest_instant_begins_anew() {
        let mut cursor = Cursor::begin(&align(1, "x", 3_600));
        let back = |latest| AlignRequest { latest: Some(time_at(latest)), ..align(1, "x", 1) };
        assert!(!cursor.align(&back(3_600)));
        assert!(cursor.align(&back(6)));
        assert_eq!(cursor.next_fire_at, time_at(1));
    }

    #[test]
    fn cursor_is_moved_once_from_one_position() {
        let mut cursor = Cursor::begin(&align(1, "x", 10));
        assert!(cursor.advance(1, time_at(10), time_at(20)));
        assert!(!cursor.advance(1, time_at(10), time_at(20)));
        assert!(!cursor.advance(1, time_at(20), time_at(20)), "it never stands still nor turns back");
        cursor.pause(time_at(15));
        assert!(!cursor.advance(1, time_at(20), time_at(30)));
    }
}
