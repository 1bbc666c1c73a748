internal import HubProtocol

extension SettingFormat<Tag> {
    static let tag = SettingFormat("tag", show: { $0.text }) { text throws(SettingValueError) in
        do throws(ProtocolError) {
            return try Tag(text)
        } catch {
            throw SettingValueError("'\(text)' cannot be used: \(error.detail)")
        }
    }
}

/// The time that a category may be without a message.
package struct CategorySilence: Sendable, Equatable {
    package let category: String
    package let limit: Duration
}

extension SettingFormat<[CategorySilence]> {
    private static let limits: ClosedRange<Duration> = .seconds(300) ... .seconds(365 * 86_400)

    static let silences = SettingFormat(
        "list of categories and times",
        range: "5m to 365d",
        nature: .list,
        show: { $0.map { "\($0.category)=\(SettingUnits.time($0.limit))" }.joined(separator: ",") },
        otherwise: "must be categories with times of 5m to 365d, such as World=6h, without duplicates"
    ) { text in
        var silences: [CategorySilence] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = word.split(separator: "=", omittingEmptySubsequences: false).map { $0.trimmed() }
            guard parts.count == 2, (try? Tag(parts[0])) != nil, let limit = SettingUnits.time(parts[1]),
                limits.contains(limit), !silences.contains(where: { $0.category == parts[0] })
            else { return nil }
            silences.append(CategorySilence(category: parts[0], limit: limit))
        }
        return silences
    }
}

extension SettingFormat<[InstallationID]> {
    /// Maximum number of agents in a list.
    private static let maximum = 100

    static let installations = SettingFormat(
        "list of installation ids",
        range: "up to \(maximum)",
        nature: .list,
        show: { $0.map(\.text).joined(separator: ",") },
        otherwise: "must be up to \(maximum) installation ids"
    ) { text in
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmed() }
        let ids = words.compactMap { try? InstallationID($0) }
        return ids.count == words.count && Set(ids).count == ids.count && ids.count <= maximum ? ids : nil
    }
}
