import Settings

// The settings for which each command has flags.

enum NoFlags: SettingFlagList { static let settings: [SettingEntry] = [] }

// MARK: - Servers

enum HubFlags: SettingFlagList { static let settings = SettingsTable.entries(.hub) }

enum BackendFlags: SettingFlagList {
    static let settings = HubStateFlags.settings + SettingsTable.entries(.backend)
}

/// The connection of the app backend, for the commands of users.
enum BackendConnectionFlags: SettingFlagList { static let settings = BackendSettings.connection.entries }

/// The state directory of a hub, for the commands that use its files.
enum HubStateFlags: SettingFlagList { static let settings = [HubSettings.state.entry] }

/// A hub and its state directory, for the commands of one hub's pages.
enum HubNameFlags: SettingFlagList { static let settings = HubStateFlags.settings + [HubSettings.name.entry] }

enum NamespaceFlags: SettingFlagList {
    static let settings = HubStateFlags.settings + [PublisherSettings.connection.authorityFile.entry]
}

// MARK: - Publishers and agents

enum PublishFlags: SettingFlagList { static let settings = SettingsTable.entries(.publisher) }

/// The connection to a hub, for the commands that send and ask.
enum SenderFlags: SettingFlagList { static let settings = PublisherSettings.connection.entries }

enum SendFlags: SettingFlagList { static let settings = SenderFlags.settings + FeedFlags.settings }

enum FeedFlags: SettingFlagList { static let settings = [PublisherSettings.feeds.entry] }

enum FeedContactFlags: SettingFlagList { static let settings = [PublisherSettings.contact.entry] }

enum FeedChangeFlags: SettingFlagList { static let settings = FeedFlags.settings + FeedContactFlags.settings }

enum FeedStateFlags: SettingFlagList { static let settings = FeedFlags.settings + [PublisherSettings.state.entry] }

enum FeedPreviewFlags: SettingFlagList {
    static let settings = FeedStateFlags.settings + [PublisherSettings.cap.entry] + FeedContactFlags.settings
}

enum AgentFlags: SettingFlagList {
    static let settings =
        AgentSettings.connection.entries + [AgentSettings.logLevel.entry, AgentSettings.inboxSize.entry]
}

enum HandlerFlags: SettingFlagList {
    static let settings = [AgentSettings.exec.entry, AgentSettings.notify.entry, AgentSettings.handlerTimeout.entry]
}
