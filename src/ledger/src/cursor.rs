//! How far a schedule has been written down.

use chrono::NaiveDateTime;

/// The cursor of a schedule: everything before `next_fire_at` is on record, nothing from it on is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The channel.
    pub channel_id: String,
    /// Its newest version that has aligned the cursor.
    pub channel_version: i64,
    /// Digest of what decides the instants: expression, zone, misfire policy, catch-up bound.
    pub config_hash: String,
    /// The next instant to write down, in UTC.
    pub next_fire_at: NaiveDateTime,
    /// Since when the schedule stands still, in UTC.
    pub paused_at: Option<NaiveDateTime>,
}

/// What a scheduler asks of its cursor when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Align {
    /// The channel.
    pub channel_id: String,
    /// The version that is being scheduled.
    pub version: i64,
    /// Digest of what decides its instants.
    pub config_hash: String,
    /// Where the schedule begins, unless the cursor goes on: its first instant after now, in UTC.
    pub next_fire_at: NaiveDateTime,
}

impl Cursor {
    /// The cursor of a schedule that has none: it begins now and fills nothing in.
    pub fn begin(align: &Align) -> Self {
        Self {
            channel_id: align.channel_id.clone(),
            channel_version: align.version,
            config_hash: align.config_hash.clone(),
            next_fire_at: align.next_fire_at,
            paused_at: None,
        }
    }

    /// Takes the cursor over for a version; answers whether anything changed. It goes on where it stands, unless it
    /// was paused or the instants changed: then it begins anew. A version older than the one it knows, on a node that
    /// has not heard yet, changes nothing.
    pub fn align(&mut self, align: &Align) -> bool {
        let begins_anew = self.paused_at.is_some()
            || (self.config_hash != align.config_hash && self.channel_version <= align.version);
        let before = self.clone();
        if begins_anew {
            *self = Self::begin(align);
        } else {
            self.channel_version = self.channel_version.max(align.version);
        }
        *self != before
    }

    /// Moves the cursor from one instant to a later one; answers whether it did. It does not when it stands elsewhere,
    /// is paused, or belongs to a newer version.
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

    /// Stops the schedule; answers whether it was running.
    pub fn pause(&mut self, now: NaiveDateTime) -> bool {
        let pauses = self.paused_at.is_none();
        if pauses {
            self.paused_at = Some(now);
        }
        pauses
    }
}
