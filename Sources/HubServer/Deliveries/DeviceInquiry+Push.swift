import Foundation
import HubProtocol
import HubRouting
import HubStore

// MARK: - Installations of push platforms

extension DeviceInquiry {
    func pushReport(_ device: FormerInstallation, _ then: Installation, _ name: String) async throws -> DeviceReport {
        let found = try await parts(of: device, then)
        let registrations = found.map { judge.report($0) }
        let recipient = try Recipient(then)
        let templates = recipient.targets.map { template($0, of: recipient) }
        var report = verdict(registrations, name) { outcome, reason in
            answer(device, then, outcome, [reason])
        } mismatch: {
            // What an agent is told of its templates, a phone is told of its own.
            isAboutTemplates && registrations.allSatisfy { $0.tile == nil }
                ? templates.mismatch(tags: then.tags, judge) : reasons(registrations)
        }
        report.platform = then.platform
        if routed.format == .template { report.templates = templates }
        report.explanation += try remarks(on: registrations)
        report.explanation += remarks(report, recipient, nil)
        return report
    }

    private var isAboutTemplates: Bool { routed.format == .template && routed.installations == nil }

    /// The registrations that an installation stood for when the message came.
    private func parts(of device: FormerInstallation, _ then: Installation) async throws -> [FoundRegistration] {
        let current = device.current.installation
        let stored = try await hub.store.registrations(ofInstallation: device.current.ordinal)
        return then.parts.map { part in
            let today = stored.first { $0.installation?.part == part }
            let tags = then.tags(of: part)
            let tagsNow = current.tags(of: part)
            let channel = part.tile.map { then.secondaryTiles[$0]?.pushChannel } ?? then.pushChannel
            return FoundRegistration(
                id: today?.registration.id,
                platform: then.platform,
                template: part.template,
                tile: part.tile,
                installation: then.id,
                handle: channel?.handle,
                tags: tags,
                tagsNow: today == nil || tagsNow == tags ? nil : tagsNow
            )
        }
    }

    /// The report on registrations of push platforms: one that the message was for was not delivered to.
    private func verdict(
        _ registrations: [RegistrationReport],
        _ name: String,
        _ make: (DeviceOutcome, String) -> DeviceReport,
        mismatch: () -> String
    ) -> DeviceReport {
        var report: DeviceReport
        if let meant = registrations.first(where: \.matches) {
            report = make(
                .notDelivered,
                """
                \(name) did not get it: it matches and was counted, but this hub does not deliver to platform \
                '\(platform(of: meant))'
                """
            )
        } else {
            report = make(.notMatched, "\(name) did not get it: \(mismatch())")
        }
        report.registrations = registrations
        return report
    }

    /// Why each of several registrations did not get the message.
    private func reasons(_ registrations: [RegistrationReport]) -> String {
        guard registrations.count > 1 else { return registrations.first?.reason ?? "it has no registration" }
        return registrations.prefix(RegistrationJudge.maximumNamed).map { registration in
            let kind = registration.template.map { "template '\($0)'" } ?? "native registration"
            let tile = registration.tile.map { " of the tile '\($0)'" } ?? ""
            return "for its \(kind)\(tile) \(registration.reason)"
        }.joined(separator: "; ")
    }

    private func remarks(on registrations: [RegistrationReport]) throws -> [String] {
        guard let meant = registrations.first(where: \.matches) else { return [] }
        return try judge.excess(on: platform(of: meant)).map { [$0] } ?? []
    }

    /// Where the message goes: a direct send to the platform of its format, whatever its handle is registered for.
    private func platform(of meant: RegistrationReport) -> Platform { routed.format.platform ?? meant.platform }
}

// MARK: - Handles

extension DeviceInquiry {
    /// Registrations of one handle that are looked at: a device has a few, but anybody may make more.
    static let maximumOfHandle = 100

    /// Why the registrations of a push handle got a message, or did not.
    ///
    /// - Returns: `nil` for a handle that the hub does not know.
    func report(handle: String) async throws -> DeviceReport? {
        let sequence = message.logged.sequence
        let current = try await hub.store.registrations(
            hub: hub.record.id,
            handle: handle,
            limit: Self.maximumOfHandle
        ) { $0.registration.platform != .stream }.found
        let former = try await hub.store.formerRegistrations(
            hub: hub.record.id,
            handle: handle,
            at: sequence,
            limit: Self.maximumOfHandle
        )
        var found: [FoundRegistration] = former.map { former in
            let today = current.first { $0.ordinal == former.ordinal }?.registration
            var found = FoundRegistration(former.registration, installation: nil)
            found.tagsNow = today.flatMap { $0.tags == former.registration.tags ? nil : $0.tags }
            return found
        }
        for stored in current where stored.installation == nil && stored.changedAfter < sequence {
            found.append(FoundRegistration(stored.registration, installation: nil))
        }
        for id in Set(current.compactMap { $0.installation?.id }) {
            found += try await parts(of: id, withHandle: handle)
        }
        let name = "device '\(handle.excerpt)'"
        let make = { (outcome: DeviceOutcome, reason: String) in
            DeviceReport(id: handle, outcome: outcome, explanation: [reason])
        }
        guard found.isEmpty else {
            let registrations = found.map { judge.report($0) }
            var report = verdict(registrations, name, make) { reasons(registrations) }
            report.platform = found[0].platform
            report.explanation += try remarks(on: registrations)
            if max(current.count, former.count) == Self.maximumOfHandle {
                report.explanation.append(
                    "it has many registrations; only the first \(Self.maximumOfHandle) of them were looked at"
                )
            }
            return report
        }
        if judge.isDirect(to: handle), let platform = routed.format.platform {
            let reason = """
                \(name) did not get it: it was sent to directly, but this hub does not deliver to platform '\(platform)'
                """
            var report = make(.notDelivered, reason)
            report.platform = platform
            report.explanation += try judge.excess(on: platform).map { [$0] } ?? []
            return report
        }
        guard !current.isEmpty else { return nil }
        return make(
            .registeredLater,
            "\(name) did not get it: it was registered, or given this handle, after the message"
        )
    }

    /// The parts of an installation that had a handle when the message came.
    private func parts(of id: InstallationID, withHandle handle: String) async throws -> [FoundRegistration] {
        guard
            let device = try await hub.store.installation(hub: hub.record.id, id: id, at: message.logged.sequence),
            let then = device.then, then.platform != .stream
        else { return [] }
        return try await parts(of: device, then).filter { found in
            found.handle.map { PushChannel.handle($0).isAddressed(by: handle) } == true
        }
    }
}

extension FoundRegistration {
    init(_ registration: Registration, installation: InstallationID?) {
        self.init(
            id: registration.id,
            platform: registration.platform,
            template: registration.template?.name,
            tile: registration.secondaryTileName,
            installation: installation,
            handle: registration.pushChannel.handle,
            tags: registration.tags
        )
    }
}

extension DeviceReport {
    /// What can be said of a message that is not sent.
    init(id: String, waitingFor message: MessageReport) {
        let reason =
            message.state == .canceled
            ? "nobody gets it: it was canceled at \(message.canceledAt ?? "")"
            : "nobody has got it yet: it is scheduled for \(message.dueAt ?? ""), and who gets it is decided then"
        self.init(id: id, outcome: .notSent, explanation: [reason])
    }
}
