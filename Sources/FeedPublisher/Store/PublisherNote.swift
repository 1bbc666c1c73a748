/// Names of the facts that ``PublisherStore`` keeps beside feeds and rows.
enum PublisherNote: String, Sendable {
    /// The set of categories last announced, with the hub it was announced to and the day.
    case announcedCategories
    /// What is wrong with the hub, said when it began.
    case hubTrouble
}
