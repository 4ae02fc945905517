//! What must not come back: names that were words of our own for things that have a name, and phrases without a
//! subject. STYLE.md has the rules; this list has what reviews have found.

/// Types, by the word that declares them, and what to call them instead.
pub const TYPES: &[(&str, &str)] = &[
    ("Doomed", "what has to happen, and when"),
    ("Effort", "`MatchCost`"),
    ("Foretold", "`TriggerPrediction`"),
    ("Gaps", "`LossScanner`"),
    ("Given", "`EmittedPackets`"),
    ("Ground", "`RangeState`"),
    ("Grumbles", "`LogLimiter`"),
    ("Nudge", "`Interrupt`"),
    ("Over", "what each one means"),
    ("Own", "`ServicePacketCheck`"),
    ("Patience", "`ScanBudget`"),
    ("Purse", "`RegexBudget`"),
    ("Reading", "`BufferScan`"),
    ("Room", "`PutResult`"),
    ("Shaper", "`TransformSink`"),
    ("Spares", "`BufferPool`"),
    ("Speech", "`SyntaxVersion`"),
    ("Spent", "`MatchCost`"),
    ("Thing", "what it is"),
    ("Trusted", "`TrustedFields`"),
    ("Twin", "`ReferenceBuffer`"),
    ("Walk", "`SequenceScan`"),
    ("Witness", "`CheckedBuffer`"),
    ("Words", "`Args`"),
];

/// Functions, and what to call them instead.
pub const FUNCTIONS: &[(&str, &str)] = &[
    ("doom", "`queue_disconnect`"),
    ("feed", "`handle_input`"),
    ("foretell", "`predict`"),
    ("hear", "`process_events`"),
    ("heard", "`handle_event`"),
    ("over", "what it means"),
    ("rest", "`advise_unneeded`"),
    ("say", "`log`"),
    ("tire", "`charge`"),
];

/// Words that stand for nothing else, wherever they are.
pub const WORDS: &[(&str, &str)] = &[
    ("BARREN_MAX", "`EMPTY_FRAGMENTS_MAX`"),
    ("donors", "`detached_buffers`"),
    ("end_note", "`pending_end_error`"),
    ("end_said", "`reported_end_error`"),
];

/// Phrases that leave out their subject or object, in lower case.
pub const PHRASES: &[&str] = &[
    "but who",
    "by who",
    "for who",
    "from who",
    "is nobody's",
    "nobody should",
    "of who",
    "says of itself",
    "than who",
    "that of who",
    "the one door",
    "what became of",
    "what came of",
    "what of it",
    "who never",
    "who only",
    "who reads",
    "who writes",
    "whoever",
];
