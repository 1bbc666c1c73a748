import HostSystem
package import HubProtocol
package import Settings
package import WebPages

/// The appearance of the pages of each hub, from the configuration and the files that it names.
package struct ConfiguredPages {
    /// By hub.
    package private(set) var appearances: [HubName: PageAppearance] = [:]
    private(set) var problems: [SettingsProblem] = []

    /// Reads the settings and their files; a setting with a problem has no effect.
    init(_ hubs: ConfiguredHubs) {
        for hub in hubs.hubs {
            var appearance = PageAppearance()
            let page = hub.page
            appearance.title = text(page.title, of: hub.name, "page-title", PageAppearance.maximumTitle)
            appearance.description = text(
                page.description,
                of: hub.name,
                "page-description",
                PageAppearance.maximumDescription
            )
            appearance.logo = read(page.logo, of: hub.name, "page-logo", Self.logo)
            appearance.accent = read(page.accent, of: hub.name, "page-accent") { try AccentColour($0) }
            appearance.showsImages = page.images ?? false
            appearance.approvesUrgent = page.approvesUrgent ?? false
            appearances[hub.name] = appearance
        }
    }

    /// Reads the appearance of the pages of the hubs.
    ///
    /// - Throws: ``SettingsError`` with all problems.
    package static func appearances(of hubs: ConfiguredHubs) throws(SettingsError) -> [HubName: PageAppearance] {
        let pages = ConfiguredPages(hubs)
        guard pages.problems.isEmpty else { throw SettingsError(pages.problems) }
        return pages.appearances
    }

    private static func logo(_ path: String) throws -> PageLogo {
        guard let bytes = try HostFile.bytes(path, limit: PageLogo.maximumBytes) else { throw PageLogo.tooLarge }
        return try PageLogo(png: bytes)
    }

    private mutating func text(
        _ entry: ConfiguredPage.Entry?,
        of hub: HubName,
        _ key: String,
        _ limit: Int
    ) -> String? {
        guard let entry else { return nil }
        guard entry.text.count <= limit else {
            problems.append(
                entry.origin.problem("'\(key)' of hub '\(hub)' has \(entry.text.count) characters; at most \(limit)")
            )
            return nil
        }
        return entry.text
    }

    private mutating func read<Value>(
        _ entry: ConfiguredPage.Entry?,
        of hub: HubName,
        _ key: String,
        _ read: (String) throws -> Value
    ) -> Value? {
        guard let entry else { return nil }
        do {
            return try read(entry.text)
        } catch {
            let reason = error is PageAppearanceProblem ? "'\(entry.text)' \(error)" : "\(error)"
            problems.append(entry.origin.problem("'\(key)' of hub '\(hub)': \(reason)"))
            return nil
        }
    }
}
