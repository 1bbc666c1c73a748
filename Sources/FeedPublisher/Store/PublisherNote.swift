/// Names of the facts that ``PublisherStore`` keeps beside feeds and rows.
enum PublisherNote: String, Sendable {
    /// The set of categories last announced, with the hub it was announced to and the day.
    case announcedCategories
    /// The hub's failure, reported when it began.
    case hubTrouble
    /// What the hub was last told of the publisher's health, and when.
    case health
}
