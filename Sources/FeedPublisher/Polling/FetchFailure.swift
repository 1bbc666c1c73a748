internal import FeedLists
internal import Feeds
internal import OutboundHTTP

/// The reason why a feed could not be read this time.
struct FetchFailure: Sendable, Equatable {
    /// A stable word; the same kind is not reported again at the next poll.
    var kind: String
    /// The text after "feed '…' " in a line for people.
    var what: String
    /// A hint on how to repair it.
    var advice: String?
    /// The pause that the server asked for, or the standard one if it should have named one.
    var retryAfter: Duration?
    /// True if the whole host asked for the pause, not this feed alone.
    var isHostWide = false
    /// The host that replied, after redirects, as ``FeedSource/politenessHost(_:)`` names it; `nil` if none did.
    var host: String?
    /// The host that could not be reached, or did not reply in time.
    var silentHost: String?
    /// True if the feed is gone permanently.
    var isGone = false
    /// True if a body was received, so that the stored validators belong to a former document.
    var spoilsValidators = false
    /// True if the feed is polled at its own interval: its document is refused only until it changes.
    var keepsPace = false
    /// True if the address itself is wrong, rather than the connection disturbed.
    var blamesAddress = false

    /// Returns the failure for a status outside 200…299.
    ///
    /// `isFinal` is true if the feed's own address replied, or the address to which it moved permanently; `isOwnHost`,
    /// if a host of the user's own did, on which each path may be another program.
    static func status(
        _ status: Int,
        retryAfter: Duration?,
        isFinal: Bool,
        isOwnHost: Bool,
        file: String
    ) -> FetchFailure {
        var failure = FetchFailure(kind: "status \(status)", what: "answered \(status)", retryAfter: retryAfter)
        failure.blamesAddress = (400..<500).contains(status) && ![407, 408, 425, 429].contains(status)
        switch status {
        case 304:
            failure.what = "answered 304 (not modified) to an unconditional request"
        case 401:
            failure.what += " (credentials required)"
            failure.advice =
                "write them into its address in '\(file)' (https://user:password@…) or into its 'headers-file', or "
                + "remove it there"
            failure.retryAfter = PollSchedule.maximumBackOff
        case 407:
            failure.what = "cannot be fetched: the proxy requires credentials (407)"
            failure.advice = "write them into the proxy's address in the environment"
        case 410 where isFinal:
            failure.what += " (gone) and is not polled again"
            failure.advice = "remove it from '\(file)'"
            failure.isGone = true
        case 429, 503:
            failure.what += status == 429 ? " (too many requests)" : " (busy)"
            failure.retryAfter = retryAfter ?? PollSchedule.standardRetryAfter
            failure.isHostWide = retryAfter != nil || !isOwnHost
        case 300..<400:
            failure.what += ", a redirect without a usable target"
        case 403, 404, 410, 451:
            failure.advice = "check its address in '\(file)'"
        default: break
        }
        return failure
    }

    static func reading(_ error: FeedError) -> FetchFailure {
        var failure = FetchFailure(kind: "unreadable", what: "", spoilsValidators: true, blamesAddress: true)
        switch error {
        case .empty:
            failure.kind = "empty"
            failure.what = "sent an empty document"
        case .html(let discovered):
            failure.kind = "html"
            failure.what = "is an HTML page, not a feed"
            failure.advice =
                discovered.first.map { found in
                    let address = try? FeedAddress(parsing: found, allowsFile: false)
                    return "the page names the feed '\(address?.publicText ?? found)'"
                }
                ?? "open the address in a browser and look for its feed"
        case .notAFeed(let root):
            failure.kind = "not a feed"
            failure.what = "is not a feed: its root element is '\(root)'"
        case .tooLarge(let limit):
            failure.kind = "too large"
            failure.what = "is larger than \(limit) bytes"
        case .unreadable(let reason):
            failure.what = "cannot be read: \(reason)"
        }
        return failure
    }

    static func endedProgram(_ reading: InterruptedReading) -> FetchFailure {
        var failure = FetchFailure(kind: FeedProblem.endedProgram, what: "", keepsPace: true)
        let times = reading.deaths == 1 ? "" : " \(reading.deaths) times"
        failure.what =
            reading.isCertain
            ? "sent a document that crashed this program\(times)"
            : "sent a document during whose reading this program was ended\(times)"
        failure.advice =
            "that document is skipped until it changes\(reading.isCertain ? "" : ", or for a day or more")"
        return failure
    }

    /// Returns the failure for a file that cannot be used; the feed is not requested without its headers and
    /// authorities.
    static func access(_ error: FeedAccessError, file: String) -> FetchFailure {
        var failure = FetchFailure(kind: "file of a key", what: "is not requested: \(error)")
        failure.advice = "repair the file, or change the key in '\(file)'"
        failure.keepsPace = true
        return failure
    }

    static func transport(_ error: OutboundError, _ source: FeedSource, file: String) -> FetchFailure {
        var failure = FetchFailure(kind: "unreachable", what: "cannot be fetched: \(error)")
        switch error {
        case .timedOut(let host, _, _):
            failure.kind = "timed out"
            failure.silentHost = FeedAddress.apparentHost(of: "http://\(host)")
        case .unreachable(let host, _), .ended(let host, _):
            failure.silentHost = FeedAddress.apparentHost(of: "http://\(host)")
        case .untrusted(_, _, let cause):
            failure.kind = "untrusted"
            failure.advice = cause.feedCure
        case .badRequest:
            failure.advice = "check the feed's headers in '\(file)'"
        case .cut:
            failure.kind = "cut"
            failure.spoilsValidators = true
        case .tooLarge: failure.kind = "too large"
        case .tooManyRedirects:
            failure.kind = "redirects"
            failure.blamesAddress = true
        case .badURL:
            failure.kind = "bad url"
            failure.blamesAddress = true
        case .refusedAddress(let host, _):
            failure.kind = "refused address"
            failure.blamesAddress = true
            failure.advice =
                !source.isLocal && host.hasPrefix(source.address.host)
                ? "a feed of your own on a private address needs 'local: true'"
                : "a redirect to another host must lead to a public address"
        default: break
        }
        return failure
    }

    /// Returns the whole line, without its level.
    func line(_ source: FeedSource) -> String {
        let line = "feed '\(source.address.publicText)' \(what)"
        return "\(line); \(advice ?? "it is polled again later")"
    }
}
