import FoundationEssentials
import Glibc

@testable import Feeds

func read(_ text: String, url: String = "https://news.example/feed", contentType: String? = nil) throws -> Feed {
    try FeedReader.read(Array(text.utf8), url: url, contentType: contentType)
}

/// The form of RFC 3339 in UTC, which reads better in a failure than seconds do.
func text(_ date: Date?) -> String? {
    date?.formatted(.iso8601)
}

/// The processor time that this thread spends, whatever else the machine is busy with.
func processorTime(_ body: () throws -> Void) rethrows -> Duration {
    func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    let start = now()
    try body()
    return now() - start
}
