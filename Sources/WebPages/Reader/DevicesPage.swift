internal import FoundationEssentials
package import HubProtocol

/// The devices of the signed-in user.
package struct DevicesPage: WebPage {
    package struct Device: Sendable {
        let kind: String
        let id: String
        let platform: String
        /// The categories, for use in a sentence.
        let categories: String
        /// The day in ISO 8601.
        let day: String
        let note: String?
        /// True if the device is the page's own browser.
        let isOwn: Bool
        let action: String

        /// Describes a device.
        ///
        /// - Parameters:
        ///   - kind: `installation` or `registration`.
        ///   - id: Its id at the hub.
        ///   - platform: The platform; `nil` if the hub no longer has the device.
        ///   - categories: The categories that it has chosen.
        ///   - changedAt: The day on which it was last registered.
        ///   - isConfirmed: False while the outcome of the last call to the hub is unknown.
        ///   - isOwn: True if the device is the page's own browser.
        ///   - home: The address of the hub's pages.
        package init(
            kind: String,
            id: String,
            platform: Platform?,
            categories: [Tag],
            changedAt: Timestamp,
            isConfirmed: Bool,
            isOwn: Bool,
            home: String
        ) {
            self.kind = kind
            self.id = id
            self.platform = platform?.label ?? "Unknown device"
            let names = categories.map(\.text).joined(separator: ", ")
            self.categories = names.isEmpty ? "No categories" : "Categories: \(names)"
            day = ISODateTime.formatDay(changedAt.date)
            note =
                platform == nil
                ? "The hub no longer has it." : isConfirmed ? nil : "The hub has not confirmed it yet."
            self.isOwn = isOwn
            action = "\(home)devices/remove"
        }
    }

    package let template = "devices"
    package let frame: PageFrame
    package var title: String { "Your devices – \(frame.name)" }
    let devices: [Device]

    package init(frame: PageFrame, devices: [Device]) {
        self.frame = frame
        self.devices = devices
    }
}
