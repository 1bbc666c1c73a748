package import HubProtocol

/// Values of the operator's pages as text.
package enum OperatorText {
    /// The number of a push handle's characters that distinguish a device from others.
    private static let shownHandle = 16
    /// The largest number of a device's tags in a list.
    private static let shownTags = 12

    /// Counts by name, such as "12 apns, 3 stream".
    package static func counts(_ counts: [String: Int], none: String = "none") -> String {
        guard !counts.isEmpty else { return none }
        return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    /// A time of a report, in UTC.
    package static func time(_ iso: String) -> String {
        guard iso.hasSuffix("Z"), iso.utf8.count == 20 else { return iso }
        return "\(iso.prefix(10)) \(iso.dropFirst(11).dropLast()) UTC"
    }

    /// The audience of a message.
    package static func audience(_ message: MessageReport) -> String {
        if let handles = message.handles { return Counted.text(handles, "handle") }
        return (message.tags ?? "everybody") + (message.isTest == true ? " (test)" : "")
    }

    /// The title of a message, or else its text, or the reason why they are not shown.
    package static func title(_ message: MessageReport) -> String {
        guard let withheld = message.withheld else { return message.title ?? message.text ?? "" }
        if withheld == .secure { return "secure: only its addressee can read it" }
        return withheld == .personal ? "to persons or devices: not shown" : "not shown: \(withheld.rawValue)"
    }

    /// The first characters of a token, or the last ones of an address.
    package static func shortHandle(_ handle: String) -> String {
        guard handle.count > shownHandle else { return handle }
        return handle.contains("://") ? "…\(handle.suffix(shownHandle))" : "\(handle.prefix(shownHandle))…"
    }

    package static func tags(_ tags: [Tag]) -> String {
        guard !tags.isEmpty else { return "none" }
        let rest = tags.count - shownTags
        return tags.prefix(shownTags).map(\.text).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    package static func bytes(_ count: Int64) -> String {
        count < 1 << 20 ? "\(count >> 10) KiB" : "\(count >> 20) MiB"
    }
}
