internal import Formats
internal import FoundationEssentials
internal import OutboundHTTP

/// The pause that a reply asks for before the next request.
struct RequestedPause: Sendable, Equatable {
    /// The time for which the reply says that it stays fresh.
    var freshness: Duration?
    var retryAfter: Duration?
}

extension RequestedPause {
    init(_ headers: OutboundHeaders, now: Date) {
        let now = Int64(now.timeIntervalSince1970)
        freshness = Self.freshness(headers, now: now)
        retryAfter = headers.retryAfter(now: now)
    }

    /// Returns `max-age`, else the time from `Date` to `Expires`, less the `Age` that caches on the way have added.
    ///
    /// Source: RFC 9111 §4.2.1, §5.1.
    private static func freshness(_ headers: OutboundHeaders, now: Int64) -> Duration? {
        let control = headers.all("Cache-Control").joined(separator: ",").lowercased()
        let directives = control.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" && $0 != "\"" } }
        var lifetime: Int64?
        for directive in directives where directive.hasPrefix("max-age=") {
            lifetime = seconds(directive.dropFirst("max-age=".count))
        }
        if lifetime == nil, !directives.contains("no-cache"), !directives.contains("no-store"),
            let expires = headers["Expires"].flatMap(HTTPDate.seconds)
        {
            lifetime = max(0, expires - (headers["Date"].flatMap(HTTPDate.seconds) ?? now))
        }
        let age = headers["Age"].flatMap { seconds($0[...]) } ?? 0
        return lifetime.map { .seconds(max(0, $0 - age)) }
    }

    private static func seconds(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return min(Int64(text) ?? longest, longest)
    }

    /// A year; RFC 9111 §1.2.2 requires overlong numbers to be read as very long.
    private static let longest: Int64 = 31_536_000
}
