import Formats
import HubProtocol
import WebPages

/// The output of an agent's or page's installation.
extension InstallationList.Entry {
    var json: JSONText {
        [
            "expirationTime": JSONText(expiresAt), "installationId": JSONText(id.text),
            "platform": JSONText(platform.rawValue), "tags": JSONText(strings: tags),
            "templates": JSONText(strings: templates), "userId": JSONText(user),
        ]
    }

    var row: Output {
        .row(id.text, platform.rawValue, "installation", ReportWords.terminal.list(tags, none: "no tags"))
    }
}

/// The output of a registration; JSON members have the protocol's names for installations, and empty ones are omitted.
extension Registration {
    var json: JSONText {
        [
            "auth": JSONText(browser?.auth), "etag": JSONText(etag),
            "expirationTime": JSONText(expirationTime.map(ISODateTime.formatMilliseconds)),
            "p256dh": JSONText(browser?.p256dh), "platform": JSONText(platform.rawValue),
            "pushChannel": JSONText(pushChannel.handle), "pushVariables": JSONText(sorted: pushVariables).unlessEmpty,
            "registrationId": JSONText(id.text), "secondaryTileName": JSONText(secondaryTileName),
            "tags": JSONText(strings: tags.map(\.text)), "template": template.map(Self.json),
        ]
    }

    private static func json(_ template: RegistrationTemplate) -> JSONText {
        [
            "body": JSONText(template.body), "expiry": JSONText(template.expiry),
            "headers": JSONText(sorted: template.headers).unlessEmpty,
            "messageType": JSONText(template.messageType), "name": JSONText(template.name),
            "priority": JSONText(template.priority),
        ]
    }

    var row: Output {
        let words = ReportWords.terminal
        let labels = words.list(tags.map(\.text), none: "no tags")
        return .row(id.text, platform.rawValue, words.kind(self), words.shortHandle(pushChannel.handle), labels)
    }

    /// All fields of the registration, with the keys of a browser.
    var facts: [ReportFact] {
        let keys = [ReportFact("P256dh", browser?.p256dh), ReportFact("Auth", browser?.auth)]
        return ReportWords.terminal.facts(self) + keys.compactMap(\.self)
    }

    private var browser: BrowserPushChannel? { if case .browser(let browser) = pushChannel { browser } else { nil } }
}
