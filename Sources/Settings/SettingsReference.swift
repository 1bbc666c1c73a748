/// The reference of the settings in Markdown, as contained in `docs/configuration.md`.
package enum SettingsReference {
    package static let sections = SettingSection.allCases.map { section in
        """
        ## `\(section.rawValue):`

        | key | type | default | environment | meaning |
        | --- | --- | --- | --- | --- |
        \(SettingsTable.entries(section).map(row).joined(separator: "\n"))
        """
    }.joined(separator: "\n\n")

    private static func row(_ entry: SettingEntry) -> String {
        let type = entry.range.map { "\(entry.type): \($0)" } ?? entry.type
        let value = entry.defaultText.map { "`\($0)`" } ?? "–"
        let variables = [entry.variable, entry.sharedVariable].compactMap { $0.map { "`\($0)`" } }
        let secret = entry.isSecretFile ? " The file is secret; its path is not." : ""
        let cells = ["`\(entry.key)`", type, value, variables.joined(separator: ", then "), entry.summary + secret]
        return "| \(cells.joined(separator: " | ")) |"
    }
}
