import OutboundHTTP

extension OutboundResponse {
    /// True for an answer that no push service gives, but a proxy or a gateway before it: it says nothing about the
    /// message, the handle or the sender.
    ///
    /// Source: RFC 9110 §15.4 (redirects), §15.5.8 (407), §15.5.20 (421); RFC 6585 §6 (511).
    var isOfIntermediary: Bool {
        switch status {
        case 300...399, 407, 421, 511: true
        case 400...499: isPage
        default: false
        }
    }

    /// True for a page for people.
    private var isPage: Bool {
        if headers["Content-Type"]?.lowercased().hasPrefix("text/html") == true { return true }
        let start = String(decoding: body.prefix(64), as: UTF8.self).lowercased()
        return ["<!doctype html", "<html"].contains { start.drop(while: \.isWhitespace).hasPrefix($0) }
    }
}
