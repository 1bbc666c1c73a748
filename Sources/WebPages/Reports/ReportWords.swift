package import FoundationEssentials
package import HubProtocol

/// The words for a hub's reports, on the operator's pages and in a terminal.
package struct ReportWords: Sendable {
    /// Words for pages, with times for people.
    package static let page = ReportWords { iso in
        guard iso.hasSuffix("Z"), iso.utf8.count == 20 else { return iso }
        return "\(iso.prefix(10)) \(iso.dropFirst(11).dropLast()) UTC"
    }
    /// Words for a terminal, with times that other commands and programs read.
    package static let terminal = ReportWords { $0 }

    /// The number of a push handle's characters that distinguish a device from others.
    private static let shownHandle = 16
    /// The largest number of a device's tags in a table.
    private static let shownTags = 12

    /// Returns the text for a time of a report, which is in ISO 8601.
    package let time: @Sendable (String) -> String

    /// The text for a time, in whole seconds.
    package func time(_ time: Timestamp) -> String { self.time(time.wholeSecond) }

    /// Counts by name, such as "12 apns, 3 stream".
    package func counts(_ counts: [String: Int], none: String = "none") -> String {
        guard !counts.isEmpty else { return none }
        return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    /// The names in a sentence.
    package func list(_ names: [String], none: String = "none") -> String {
        names.isEmpty ? none : names.joined(separator: ", ")
    }

    /// The first tags of a device.
    package func firstTags(_ tags: [String]) -> String {
        let rest = tags.count - Self.shownTags
        return list(Array(tags.prefix(Self.shownTags))) + (rest > 0 ? " and \(rest) more" : "")
    }

    /// The first characters of a token, or the last ones of an address.
    package func shortHandle(_ handle: String) -> String {
        guard handle.count > Self.shownHandle else { return handle }
        return handle.contains("://") ? "…\(handle.suffix(Self.shownHandle))" : "\(handle.prefix(Self.shownHandle))…"
    }

    /// A length of time in milliseconds, such as "12 ms", "4.2 s" or "3 min".
    package func span(milliseconds: Int) -> String {
        switch milliseconds {
        case ..<1_000: return "\(milliseconds) ms"
        case ..<10_000: return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
        case ..<120_000: return "\(milliseconds / 1_000) s"
        case ..<7_200_000: return "\(milliseconds / 60_000) min"
        default: return "\(milliseconds / 3_600_000) h"
        }
    }

    func bytes(_ count: Int64) -> String { count < 1 << 20 ? "\(count >> 10) KiB" : "\(count >> 20) MiB" }

    // MARK: - Devices

    /// The kind of a registration, such as "template 'x'".
    package func kind(_ registration: Registration) -> String {
        guard let template = registration.template else { return "native" }
        return template.name.isEmpty ? "template" : "template '\(template.name)'"
    }

    /// The time of an expiry; "never" for none, and for the protocol's year 9999.
    package func expiry(_ date: Date?) -> String {
        guard let date, !ISODateTime.isNever(date) else { return "never" }
        return time(Timestamp(date))
    }

    /// Returns a registration without the keys of its push channel; a template has at most `bodyLimit` characters.
    package func facts(_ registration: Registration, bodyLimit: Int = .max) -> [ReportFact] {
        let template = registration.template
        let start = [
            ReportFact("Id", registration.id.text), ReportFact("Platform", "\(registration.platform)"),
            ReportFact("Kind", kind(registration)), ReportFact("Handle", registration.pushChannel.handle),
            ReportFact("Tags", list(registration.tags.map(\.text))), ReportFact("Tile", registration.secondaryTileName),
        ]
        let body = template.map { String($0.body.prefix(bodyLimit)) }
        let end = [
            ReportFact("Expiry", template?.expiry), ReportFact("Priority", template?.priority),
            ReportFact("Message", template?.messageType.map { "type \($0)" }),
            ReportFact("Etag", "\(registration.etag)"), ReportFact("Expires", expiry(registration.expirationTime)),
        ]
        return start.compactMap(\.self) + variables(registration.pushVariables)
            + [ReportFact("Template", body)].compactMap(\.self)
            + .init(template?.headers, { _ in "Header" }, { "\($0): \($1)" }) + end.compactMap(\.self)
    }

    /// Returns an installation without its templates and the keys of its push channel.
    package func facts(_ installation: Installation) -> [ReportFact] {
        let handle = installation.pushChannel?.handle ?? "a secret of the device"
        let isDead = installation.pushChannelExpired
        let facts = [
            ReportFact("Id", installation.id.text), ReportFact("Platform", "\(installation.platform)"),
            ReportFact("User", installation.userID?.text ?? "none"),
            ReportFact("Handle", isDead ? "\(handle), reported dead" : handle, isBad: isDead),
            ReportFact("Tags", list(installation.tags.map(\.text))),
            ReportFact("Expires", expiry(installation.expirationTime)),
        ]
        return facts.compactMap(\.self) + variables(installation.pushVariables)
    }

    private func variables(_ variables: [String: String]) -> [ReportFact] {
        .init(variables, { _ in "Variable" }, { "\($0): \($1)" })
    }

    // MARK: - Alarms and credentials

    /// The state of an alarm's silence; `nil` for an alarm that is not silenced.
    package func silence(_ alarm: AlarmReport) -> String? {
        alarm.isSilenced ? "silenced until \(alarm.silencedUntil.map(time) ?? "it ends")" : nil
    }

    /// The state of a credential, its reason and its expiry.
    package func parts(_ credential: CredentialReport.Credential) -> [String] {
        let expiry = credential.expiresAt.map { "expires \(time($0))" }
        return [credential.isUsable ? "usable" : "not usable", credential.reason, expiry].compactMap(\.self)
    }
}
