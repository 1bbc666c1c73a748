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
        ///   - frame: The frame of the page.
        package init(
            kind: String,
            id: String,
            platform: Platform?,
            categories: [Tag],
            changedAt: Timestamp,
            isConfirmed: Bool,
            isOwn: Bool,
            frame: PageFrame
        ) {
            let words = frame.words
            self.kind = kind
            self.id = id
            self.platform = platform?.label ?? words[.deviceUnknown]
            let names = categories.map(\.text).joined(separator: ", ")
            self.categories =
                names.isEmpty ? words[.deviceWithoutCategories] : words.text(.deviceCategories, ["names": names])
            day = ISODateTime.formatDay(changedAt.date)
            note =
                platform == nil
                ? words[.deviceGone] : isConfirmed ? nil : words[.deviceUnconfirmed]
            self.isOwn = isOwn
            action = "\(frame.home)devices/remove"
        }
    }

    package let template = "devices"
    package let frame: PageFrame
    package var title: String { "\(frame.words[.yourDevices]) – \(frame.name)" }
    let devices: [Device]

    package init(frame: PageFrame, devices: [Device]) {
        self.frame = frame
        self.devices = devices
    }
}
