import Foundation

/// A time within which a request is repeated.
struct RetryDeadline {
    /// Pauses between attempts grow from the first to the longest.
    private static let pauses = (first: Duration.milliseconds(20), longest: Duration.milliseconds(250))

    private let time: Duration

    init(_ time: Duration) { self.time = time }

    /// Repeats an attempt that throws ``LogStream/Unanswered`` until the time has expired; blocks.
    func run<Output>(_ attempt: (_ rest: Duration) throws -> Output) throws -> Output {
        let end = ContinuousClock.now + time
        var pause = Self.pauses.first
        while true {
            do {
                return try attempt(max(end - .now, Self.pauses.first))
            } catch let unanswered as LogStream.Unanswered {
                guard end - .now > pause else {
                    throw ReplicatedLogError.noAnswer(seconds: Int(time.components.seconds), reason: unanswered.reason)
                }
                Thread.sleep(forTimeInterval: pause / .seconds(1))
                pause = min(pause * 2, Self.pauses.longest)
            }
        }
    }
}
