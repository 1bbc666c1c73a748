/// Names of the values that ``PublisherStore`` keeps besides feeds and rows.
enum PublisherNote: String, Sendable {
    /// The set of categories last announced, with the hub and the day of the announcement.
    case announcedCategories
    /// The hub's failure, reported when it began.
    case hubProblem = "hubTrouble"
    /// The last report of the publisher's health to the hub, with its time.
    case health
    /// The outcomes of operators' requests that the hub does not know yet.
    case requests
    /// A random text that makes the versions of stories unpredictable (``SharedStories``).
    case versionSecret
}
