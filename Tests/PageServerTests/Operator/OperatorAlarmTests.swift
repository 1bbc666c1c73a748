import Alarms
import HubClient
import HubProtocol
import Testing
import WebPages

@testable import HubServer
@testable import PageServer

/// The page of alarms, and the forms that silence them.
struct OperatorAlarmTests {
    @Test func `alarms are shown, silenced and audited`() async throws {
        try await PagesHub.run(.public) {
            $0.alarmAgents = [try? InstallationID("lobby")].compactMap(\.self)
            // At the first look.
            $0.alarmRules.agentAbsence = .seconds(-1)
            $0.alarmRules.settling = .zero
        } _: { hub in
            let browser = try await OperatorBrowser(hub)
            let none = try await browser.get("alarms")
            #expect(none.status == 200 && none.body.contains("There are no alarms."))
            let secret = PushChannelSecret.random()
            try await hub.client.put(
                Installation(
                    id: try InstallationID("lobby"),
                    platform: .stream,
                    pushChannel: .handle(secret.text)
                )
            )
            await hub.service.alarms.look()
            let alarm = try #require(try await hub.client.alarms().alarms.first)
            let page = try await browser.get("alarms")
            #expect(page.body.contains("Agent &#39;lobby&#39; is not connected") || page.body.contains("Agent 'lobby'"))
            #expect(page.body.contains("/-/news/admin/alarms/\(alarm.id)/silence?for=day"))
            let overview = try await browser.get("")
            #expect(overview.body.contains("<dt>Active alarms</dt><dd class=\"error\" dir=\"auto\">1 absentAgent</dd>"))
            for (path, isSilenced) in [("silence?for=day", true), ("unsilence", false), ("silence", true)] {
                let reply = try await browser.post("alarms/\(alarm.id)/\(path)")
                #expect(reply.status == 303 && reply.location == "/-/news/admin/alarms", "\(path)")
                let now = try await hub.client.alarms().alarms
                #expect(now.map(\.isSilenced) == [isSilenced], "\(path)")
            }
            let silenced = try await browser.get("alarms")
            #expect(silenced.body.contains("silenced until it ends") && silenced.body.contains("End the silence"))
            let unknown = try await browser.post("alarms/000000000000/silence")
            #expect(unknown.status == 404)
            let actions = try await browser.actions().prefix(4)
            #expect(
                actions.map(\.action) == ["silence alarm", "silence alarm", "unsilence alarm", "silence alarm"]
            )
            #expect(actions.map(\.outcome.isEmpty) == Array(repeating: false, count: 4))
        }
    }
}
