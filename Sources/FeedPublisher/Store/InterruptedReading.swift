internal import FoundationEssentials

/// A document during whose reading the program ended, if no document of its feed has been read since.
///
/// A crash of the reading thread is certain evidence, and the document is skipped from then on. If the program was
/// killed, or lost power, the document need not be the cause: its feed is then read after all others were published,
/// and the document is skipped only if it was being read each of ``patience`` times.
struct InterruptedReading: Sendable, Equatable {
    /// Number of consecutive ends without certain evidence after which a document is skipped.
    static let patience = 4
    /// Time after which a skipped document without certain evidence is read again; doubles with each further end.
    private static let pause: (first: Duration, longest: Duration) = (.seconds(86_400), .seconds(7 * 86_400))
    /// The corresponding time for another document of a feed whose documents end the program repeatedly.
    private static let pauseOfFeed: (first: Duration, longest: Duration) = (.seconds(3_600), .seconds(86_400))

    /// Number of doublings after which both times have reached their maximum.
    private static let maximumDoublings = 5

    /// SHA-256 of the document.
    let hash: [UInt8]
    /// Version of the program that ended.
    let program: String
    let started: Date
    /// Number of consecutive runs of the program that ended while they read documents of the feed.
    let deaths: Int
    /// True if the thread that read the document crashed.
    let isCertain: Bool

    /// True if a document must not be read now.
    func skips(_ other: [UInt8], program now: String, at time: Date) -> Bool {
        // Another version may read what this one could not.
        guard program == now else { return false }
        if other == hash, isCertain { return true }
        // The first other document after a crash is read at once.
        let patience = isCertain ? 2 : Self.patience
        guard deaths >= patience else { return false }
        let (first, longest) = other == hash ? Self.pause : Self.pauseOfFeed
        let doublings = min(deaths - patience, Self.maximumDoublings)
        return !DueTime(after: min(first * (1 << doublings), longest), from: started).hasCome(at: time)
    }
}
