package import FoundationEssentials

/// Headers of a send that are forwarded to a push service, under the service's own names in lower case.
///
/// All other headers stay with the hub. The list, ``rules``, is the same for all senders.
///
/// Source: protocol §5.1.
package struct ForwardedHeaders: Sendable, Equatable {
    /// Maximum number of headers of a message.
    package static let maximumCount = 32
    /// Longest value, in bytes; values for Baidu and WNS are far shorter.
    package static let maximumValueBytes = 1_024

    package static let none = ForwardedHeaders()

    package private(set) var values: [String: String]

    private init() { values = [:] }

    /// Restores stored values.
    package init(values: [String: String]) { self.values = values }

    package var isEmpty: Bool { values.isEmpty }

    /// `name` in lower case.
    package subscript(name: String) -> String? { values[name] }

    private enum Match: Sendable {
        case name(String)
        case prefix(String)
    }

    /// Headers of requests, in lower case, and their names at the push service of a format.
    private struct Rule: Sendable {
        let format: MessageFormat
        let match: Match
        /// The replacement of the prefix.
        var becomes: String?

        func name(for header: String) -> String? {
            switch match {
            case .name(let name): header == name ? name : nil
            case .prefix(let prefix):
                header.hasPrefix(prefix) && header != prefix
                    ? (becomes ?? prefix) + header.dropFirst(prefix.count) : nil
            }
        }
    }

    private static let rules = [
        Rule(format: .apple, match: .prefix("apns-")),
        // .NET and one Go library.
        Rule(format: .apple, match: .prefix("x-apns-"), becomes: "apns-"),
        Rule(format: .windows, match: .prefix("x-wns-")),
        Rule(format: .windowsphone, match: .name("x-windowsphone-target")),
        Rule(format: .windowsphone, match: .name("x-notificationclass")),
        Rule(format: .baidu, match: .prefix("x-baidu-")),
        // RFC 8030 §5.
        Rule(format: .browser, match: .name("ttl")),
        Rule(format: .browser, match: .name("urgency")),
        Rule(format: .browser, match: .name("topic")),
        // Edge's push service.
        Rule(format: .browser, match: .name("x-wns-cache-policy")),
    ]

    /// Selects the headers of a request that a message's format can use; a template message reaches every platform, so
    /// it can use all.
    ///
    /// A value that is not printable ASCII is left out: one library sends binary values in `X-Apns-Expiration`, and its
    /// sends must not fail. Of two spellings of a name the push service's own wins. The time in
    /// `ServiceBusNotification-Apns-Expiry` becomes `apns-expiration` if it can be read.
    ///
    /// - Throws: ``ProtocolError`` 400 for too many headers, and for a value that is too long.
    package init(
        of headers: [(name: String, value: String)],
        format: MessageFormat,
        now: Date
    ) throws(ProtocolError) {
        values = [:]
        let rules = Self.rules.filter { format == .template || $0.format == format }
        var borrowed: [String: String] = [:]
        for (name, value) in headers {
            let header = name.lowercased()
            guard let kept = rules.lazy.compactMap({ $0.name(for: header) }).first, Self.isUsable(value) else {
                continue
            }
            guard value.utf8.count <= Self.maximumValueBytes else {
                throw .badRequest("The header '\(name.excerpt)' is longer than \(Self.maximumValueBytes) bytes.")
            }
            if kept == header { values[kept] = value } else { borrowed[kept] = value }
        }
        values.merge(borrowed) { own, _ in own }
        if rules.contains(where: { $0.format == .apple }), values["apns-expiration"] == nil,
            let expiry = headers.first(where: { Self.expiryNames.contains($0.name.lowercased()) })?.value
        {
            values["apns-expiration"] = ApnsExpiry.date(expiry, now: now).map { "\(Int64($0.timeIntervalSince1970))" }
        }
        guard values.count <= Self.maximumCount else {
            throw .badRequest("There are more than \(Self.maximumCount) headers for push services.")
        }
    }

    private static let expiryNames = [HeaderName.apnsExpiry.lowercased(), HeaderName.apnsExpirySample.lowercased()]

    private static func isUsable(_ value: String) -> Bool {
        !value.isEmpty && value.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
    }

    /// `name` in lower case.
    package mutating func set(_ name: String, to value: String) { values[name] = value }
}
