internal import Feeds
internal import Formats
package import FoundationEssentials

/// The clock, randomness and reader of a pass, which a test can replace.
package struct PublishEnvironment: Sendable {
    /// The wall clock: for due times, and for times that people read.
    package var now: @Sendable () -> Date = { Date() }
    /// Randomness for jitter and idempotency keys.
    package var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    /// The time zone of the hours in feed lists.
    var timeZone: @Sendable () -> TimeZone = { .current }
    /// Waits within a pass, on the monotonic clock.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// The version of this program: a document that ended another version is tried again.
    package var program = ""
    var read: @Sendable (FetchedDocument) throws(FeedError) -> Feed = { document throws(FeedError) in
        try FeedReader.read(
            document.body,
            url: document.url,
            contentLocation: document.contentLocation,
            contentType: document.contentType
        )
    }
    /// Waits until this much time of a pass has elapsed on the monotonic clock; throws when cancelled.
    package var deadline: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    package init() {}

    /// Returns 128 random bits in 32 hexadecimal digits.
    func idempotencyKey() -> String {
        Hexadecimal.encode([random(), random()].flatMap { half in withUnsafeBytes(of: half.bigEndian, Array.init) })
    }
}
