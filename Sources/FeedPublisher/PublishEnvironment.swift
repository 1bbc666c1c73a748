internal import Feeds
package import FoundationEssentials

/// The clock, randomness and reader of a pass, which a test can replace.
package struct PublishEnvironment: Sendable {
    /// The wall clock: for due times, and for times that people read.
    package var now: @Sendable () -> Date
    /// Randomness for jitter and idempotency keys.
    package var random: @Sendable () -> UInt64
    /// The time zone of the hours in feed lists.
    var timeZone: @Sendable () -> TimeZone
    /// Waits within a pass, on the monotonic clock.
    package var sleep: @Sendable (Duration) async throws -> Void
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

    package init(
        now: @escaping @Sendable () -> Date = { Date() },
        random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) },
        timeZone: @escaping @Sendable () -> TimeZone = { .current },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.now = now
        self.random = random
        self.timeZone = timeZone
        self.sleep = sleep
    }

    /// Returns 128 random bits in 32 hexadecimal digits.
    func idempotencyKey() -> String {
        [random(), random()].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
