import Foundation
import HubProtocol
import PushEmulator

/// Devices of three platforms, each of which matches one message: the native one of its platform, or the one for templates.
struct PushFleet {
    struct Target {
        /// Of the registration.
        let id: String
        /// The installation that it belongs to; `nil` for a registration of its own.
        var installation: String?
        let platform: Platform
        let handle: String
        let isTemplate: Bool
        let isDead: Bool
    }

    static let tag = "news"

    static func toast(_ text: String) -> String {
        #"<toast><visual><binding template="ToastText01"><text id="1">\#(text)</text></binding></visual></toast>"#
    }

    /// One target in so many has a template, and one in so many is dead.
    private static let (templates, dead) = (5, 50)

    let targets: [Target]
    private let aliveTargets: [Platform: [Target]]

    init(count: Int, _ emulator: PushEmulator) {
        var targets = (0..<count).map { number in
            let platform = PushPlay.platforms[number % PushPlay.platforms.count]
            let isDead = number % Self.dead == 7
            return Target(
                id: "\(number + 1)-1-1",
                platform: platform,
                handle: Self.handle(number, platform, isDead: isDead, emulator),
                isTemplate: number % Self.templates == 0,
                isDead: isDead
            )
        }
        for (place, platform) in PushPlay.platforms.enumerated() {
            for isDead in [false, true] {
                let number = count + 2 * place + (isDead ? 1 : 0)
                targets.append(
                    Target(
                        id: "",
                        installation: "\(platform)-\(isDead ? "dead" : "alive")",
                        platform: platform,
                        handle: Self.handle(number, platform, isDead: isDead, emulator),
                        isTemplate: false,
                        isDead: isDead
                    )
                )
            }
        }
        self.targets = targets
        aliveTargets = Dictionary(grouping: targets.filter { !$0.isDead }, by: \.platform)
    }

    func alive(_ platform: Platform) -> [Target] { aliveTargets[platform] ?? [] }
    func dead(_ platform: Platform) -> [Target] { targets.filter { $0.isDead && $0.platform == platform } }

    /// `docs/push-emulator.md` lists the markers of dead devices.
    private static func handle(
        _ number: Int,
        _ platform: Platform,
        isDead: Bool,
        _ emulator: PushEmulator
    ) -> String {
        switch platform {
        case .apns: (isDead ? "fa17dead" : "") + String(format: "%08x", number)
        case .wns: emulator.channelURI("\(isDead ? "dead-" : "")w\(number)")
        default: "\(isDead ? "dead-" : "")f\(number)"
        }
    }
}

extension PushFleet.Target {
    var registration: Registration {
        get throws {
            Registration(
                id: try RegistrationID(id),
                tags: [try Tag(PushFleet.tag)],
                platform: platform,
                pushChannel: .handle(handle),
                template: isTemplate ? template : nil
            )
        }
    }

    private var template: RegistrationTemplate {
        switch platform {
        case .apns: RegistrationTemplate(name: "t", body: #"{"aps":{"alert":"$(title)"}}"#)
        case .wns:
            RegistrationTemplate(
                name: "t",
                body: PushFleet.toast("$(title)"),
                headers: ["X-WNS-Type": "wns/toast"]
            )
        default: RegistrationTemplate(name: "t", body: #"{"message":{"data":{"title":"$(title)"}}}"#)
        }
    }

    /// As an installation's document.
    var json: String {
        get throws {
            Installation(
                id: try InstallationID(installation ?? ""),
                platform: platform,
                pushChannel: .handle(handle),
                tags: [try Tag(PushFleet.tag)]
            ).encodedJSON(as: .request)
        }
    }
}
