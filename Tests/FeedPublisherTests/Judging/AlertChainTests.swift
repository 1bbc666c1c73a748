import Foundation
import HubProtocol
import Testing

@testable import FeedPublisher

/// CAP messages that replace and call off others, through real passes.
@Suite struct AlertChainTests {
    private typealias Warning = AlertRoom.Warning

    @Test func `an update replaces the announced alert, and so does an update of the update`() async throws {
        let alerts = try await AlertRoom()
        try await alerts.bring([Warning(1)])
        try await alerts.bring([Warning(2, "Update", [1]), Warning(1)])
        try await alerts.bring([Warning(3, "Update", [2]), Warning(2, "Update", [1]), Warning(1)])
        #expect(alerts.room.hub.titles == ["Alert 1", "Update 2", "Update 3"])
        let found = try alerts.properties()
        let story = try #require(found[0]["story"])
        #expect(story.utf8.count == StoryName.length)
        #expect(found.map { $0["story"] } == [story, story, story])
        #expect(found.map { $0["status"] } == [nil, "update", "update"])
        #expect(found.map { $0["replaces"] } == [nil, story, story])
        try await alerts.pass()
        #expect(alerts.room.hub.messages.count == 3)
    }

    @Test func `an update through another feed of the category replaces, and once only`() async throws {
        let alerts = try await AlertRoom(["/a", "/b"])
        try await alerts.bring([Warning(1)], to: "/a")
        try await alerts.bring([Warning(2, "Update", [1])], to: "/b")
        try await alerts.bring([Warning(2, "Update", [1]), Warning(1)], to: "/a")
        // Late, through the feed that is behind.
        try await alerts.bring([Warning(2, "Update", [1]), Warning(1)], to: "/b")
        #expect(alerts.room.hub.titles == ["Alert 1", "Update 2"])
        let found = try alerts.properties()
        #expect(found[1]["replaces"] == found[0]["story"])
    }

    @Test func `an update of what was never announced is news, and what it names is known from then on`() async throws {
        let alerts = try await AlertRoom(["/a", "/b"])
        try await alerts.bring([Warning(2, "Update", [1])], to: "/a")
        try await alerts.bring([Warning(1)], to: "/b")
        #expect(alerts.room.hub.titles == ["Update 2"])
        #expect(try alerts.properties()[0]["status"] == nil)
        try await alerts.bring([Warning(3, "Cancel", [1, 2])], to: "/b")
        #expect(alerts.room.hub.titles == ["Update 2", "Cancelled: Update 2"])
    }

    @Test func `an update of alerts of a first reading is news`() async throws {
        let alerts = try await AlertRoom(first: [Warning(1)])
        #expect(alerts.room.hub.messages.isEmpty)
        try await alerts.bring([Warning(2, "Update", [1]), Warning(1)])
        #expect(alerts.room.hub.titles == ["Update 2"])
    }

    @Test func `a cancel withdraws what was announced, over the cap, past filters, and once`() async throws {
        let alerts = try await AlertRoom(["/a", "/b"], rules: "include: flood\nexclude: cancel")
        let flood = Warning(1, headline: "Flood in the valley")
        try await alerts.bring([flood], to: "/a")
        let news = (5...12).map { Warning($0, headline: "Flood \($0)") }
        alerts.publish("/a", [Warning(3, "Cancel", [1])] + news + [flood])
        try await alerts.pass { $0.cap = 2 }
        let titles = alerts.room.hub.titles
        #expect(titles.filter { $0 == "Cancelled: Flood in the valley" }.count == 1)
        #expect(titles.last == "8 more Weather stories")
        let found = try #require(try alerts.properties().first { $0["status"] == "withdrawn" })
        let first = try alerts.properties()[0]
        #expect(found["story"] == first["story"])
        #expect(found["replaces"] == first["story"])
        try await alerts.bring([Warning(3, "Cancel", [1]), flood], to: "/b")
        #expect(alerts.room.hub.messages.count == titles.count)
    }

    @Test func `what says nothing to the public is silent, with its reason`() async throws {
        let alerts = try await AlertRoom()
        try await alerts.bring([Warning(1)])
        var exercise = Warning(4, "Cancel", [1], headline: "exercise")
        exercise.status = "Exercise"
        alerts.publish("/w", [Warning(2, "Ack", [1]), Warning(3, "Error", [1]), exercise, Warning(6, "Cancel", [5])])
        #expect(
            try await alerts.skipped() == [
                "Ack 2": "acknowledgement", "Error 3": "acknowledgement", "exercise": "notForThePublic",
                "Cancel 6": "nothingToWithdraw",
            ]
        )
        try await alerts.pass()
        #expect(alerts.room.hub.titles == ["Alert 1"])
    }

    @Test func `a cancelled alert that comes late through another feed is not announced`() async throws {
        let alerts = try await AlertRoom(["/a", "/b"])
        try await alerts.bring([Warning(2, "Cancel", [1])], to: "/a")
        try await alerts.bring([Warning(1)], to: "/b")
        #expect(alerts.room.hub.messages.isEmpty)
    }

    @Test(arguments: ["else@weather.example", nil])
    func `nobody replaces, cancels or forestalls another's alerts`(sender: String?) async throws {
        let alerts = try await AlertRoom(["/a", "/b"])
        func foreign(_ number: Int, _ type: String, _ references: [Int]) -> Warning {
            var warning = Warning(number, type, references)
            warning.sender = sender
            return warning
        }
        try await alerts.bring([Warning(1)], to: "/a")
        try await alerts.bring([foreign(3, "Cancel", [1, 2])], to: "/b")
        try await alerts.bring([foreign(5, "Update", [1, 4])], to: "/b")
        try await alerts.bring([Warning(2), Warning(4)], to: "/a")
        #expect(alerts.room.hub.titles.sorted() == ["Alert 1", "Alert 2", "Alert 4", "Update 5"])
        #expect(try alerts.properties().compactMap { $0["replaces"] } == [])
    }

    @Test func `a message without a sender counts within its feed`() async throws {
        let alerts = try await AlertRoom()
        try await alerts.bring([Warning(1)])
        var cancel = Warning(2, "Cancel", [1])
        cancel.sender = nil
        try await alerts.bring([cancel])
        #expect(alerts.room.hub.titles == ["Alert 1", "Cancelled: Alert 1"])
    }

    @Test func `what was sent beside an update or before it does not call it off when it comes late`() async throws {
        let alerts = try await AlertRoom()
        try await alerts.bring([Warning(1)])
        var update = Warning(3, "Update", [1])
        update.minute = 5
        try await alerts.bring([update])
        var beside = Warning(4, "Cancel", [1])
        beside.minute = 5
        try await alerts.bring([beside, Warning(2, "Update", [1])])
        #expect(alerts.room.hub.titles == ["Alert 1", "Update 3", "Update 2"])
        let found = try alerts.properties()
        #expect(found[1]["story"] == found[0]["story"])
        #expect(found[2]["story"] != found[0]["story"])
        try await alerts.bring([Warning(6, "Cancel", [1])])
        #expect(alerts.room.hub.titles.last == "Cancelled: Update 3")
    }

    // MARK: In one document

    struct Document: CustomTestStringConvertible {
        let label: String
        let warnings: [AlertRoom.Warning]
        let isShownBefore: Bool
        let expected: [String]

        init(_ label: String, _ warnings: [AlertRoom.Warning], shown: Bool = false, _ expected: [String]) {
            self.label = label
            self.warnings = warnings
            isShownBefore = shown
            self.expected = expected
        }

        var testDescription: String { label }
    }

    private static func same(_ warning: Warning) -> Warning {
        var warning = warning
        warning.minute = 1
        return warning
    }

    static let documents: [Document] = [
        Document("alert and update", [Warning(1), Warning(2, "Update", [1])], ["Update 2"]),
        Document("alert, update and cancel", [Warning(1), Warning(2, "Update", [1]), Warning(3, "Cancel", [2])], []),
        Document("cancel of the alert alone", [Warning(1), Warning(2, "Update", [1]), Warning(3, "Cancel", [1])], []),
        Document(
            "shown before, then all three",
            [Warning(1), Warning(2, "Update", [1]), Warning(3, "Cancel", [1, 2])],
            shown: true,
            ["Cancelled: Alert 1"]
        ),
        Document(
            "shown before, a chain",
            [Warning(1), Warning(2, "Update", [1]), Warning(3, "Update", [2]), Warning(4, "Update", [3])],
            shown: true,
            ["Update 4"]
        ),
        Document(
            "parted by areas",
            [Warning(1), Warning(2, "Update", [1]), same(Warning(3, "Update", [1]))],
            shown: true,
            ["Update 2", "Update 3"]
        ),
        Document(
            "a part cancelled, a part continued, at one time",
            [Warning(1), same(Warning(2, "Update", [1])), same(Warning(3, "Cancel", [1]))],
            shown: true,
            ["Update 2"]
        ),
        Document("two alerts made one", [Warning(1), Warning(2), Warning(3, "Update", [1, 2])], ["Update 3"]),
        Document("all at one time", [Warning(1), same(Warning(2, "Update", [1]))], ["Update 2"]),
        Document("one that names itself", [Warning(2, "Update", [2])], ["Update 2"]),
        Document(
            "a circle",
            [Warning(1, "Update", [2]), Warning(2, "Update", [1])],
            ["Update 2"]
        ),
        Document(
            "an update of something cancelled here",
            [Warning(1), Warning(2, "Cancel", [1]), Warning(3, "Update", [2])],
            ["Update 3"]
        ),
    ]

    @Test(arguments: documents, [false, true])
    func `the end of a chain in one document is announced, in any order`(document: Document, isReversed: Bool)
        async throws
    {
        let alerts = try await AlertRoom()
        if document.isShownBefore { try await alerts.bring([Warning(1)]) }
        let before = alerts.room.hub.messages.count
        try await alerts.bring(isReversed ? document.warnings.reversed() : document.warnings)
        let titles = alerts.room.hub.titles.dropFirst(before)
        #expect(titles.sorted() == document.expected)
        try await alerts.pass()
        #expect(alerts.room.hub.messages.count == before + document.expected.count)
    }

    @Test func `a chain of thousands is followed to its end`() async throws {
        let alerts = try await AlertRoom()
        try await alerts.bring([Warning(1)])
        let chain = (2...2_000).map { Warning($0, "Update", Array(max(1, $0 - 40)..<$0)) }
        try await alerts.bring(chain.reversed())
        #expect(alerts.room.hub.titles == ["Alert 1", "Update 2000"])
    }

    // MARK: What waits

    @Test func `an update replaces an alert that was not sent, and a cancel removes it`() async throws {
        let alerts = try await AlertRoom()
        // Attempted, and so no more to be changed; what follows is not.
        alerts.room.hub.answer { _ in 503 }
        try await alerts.bring([Warning(1)])
        try await alerts.bring([Warning(2), Warning(3), Warning(1)])
        try await alerts.bring([Warning(5, "Cancel", [3]), Warning(4, "Update", [2]), Warning(3), Warning(2)])
        #expect(try alerts.room.store().pending().map(\.message.headlines) == ["Alert 1", "Update 4"])
        alerts.room.hub.answer { _ in 201 }
        try await alerts.pass()
        #expect(alerts.room.hub.titles == ["Alert 1", "Update 4"])
        let update = try alerts.properties()[1]
        #expect(update["status"] == nil)
        #expect(update["replaces"] == nil)
    }

    @Test func `a cancel of an alert that may have left is sent after it`() async throws {
        let alerts = try await AlertRoom()
        alerts.room.hub.answer { _ in 503 }
        try await alerts.bring([Warning(1)])
        try await alerts.bring([Warning(2, "Cancel", [1]), Warning(1)])
        alerts.room.hub.answer { _ in 201 }
        try await alerts.pass(25_200)
        #expect(alerts.room.hub.titles == ["Alert 1", "Cancelled: Alert 1"])
    }

    @Test func `an update that waits gives way to a cancel, which withdraws what was shown`() async throws {
        let alerts = try await AlertRoom()
        try await alerts.bring([Warning(1)])
        alerts.room.hub.answer { _ in 503 }
        try await alerts.bring([Warning(9)])
        try await alerts.bring([Warning(2, "Update", [1])])
        try await alerts.bring([Warning(3, "Cancel", [1, 2])])
        alerts.room.hub.answer { _ in 201 }
        try await alerts.pass()
        #expect(alerts.room.hub.titles == ["Alert 1", "Alert 9", "Cancelled: Update 2"])
        let found = try alerts.properties()
        #expect(found[2]["replaces"] == found[0]["story"])
    }

    @Test func `an update of several alerts replaces all of them`() async throws {
        let alerts = try await AlertRoom()
        try await alerts.bring([Warning(1)])
        try await alerts.bring([Warning(2), Warning(1)])
        try await alerts.bring([Warning(3, "Update", [1, 2])])
        let found = try alerts.properties()
        let names = try found.prefix(2).map { try #require($0["story"]) }
        #expect(found[2]["story"] == names[0])
        #expect(found[2]["replaces"] == names.joined(separator: " "))
        try await alerts.bring([Warning(4, "Cancel", [2])])
        #expect(try alerts.properties().last?["replaces"] == names[0])
    }

    @Test func `an alert that was announced only in a digest is cancelled in a message of its own`() async throws {
        let alerts = try await AlertRoom()
        alerts.publish("/w", [Warning(1), Warning(2)])
        try await alerts.pass { $0.cap = 0 }
        #expect(alerts.room.hub.titles == ["2 more Weather stories"])
        try await alerts.bring([Warning(3, "Cancel", [1])])
        let found = try #require(try alerts.properties().last)
        #expect(found["title"] == "Cancelled: Alert 1")
        #expect(found["status"] == "withdrawn")
        #expect(found["replaces"] == nil)
    }

    @Test func `an alert that the hub refused needs no cancel, and its update is news`() async throws {
        let alerts = try await AlertRoom()
        alerts.room.hub.answer { _ in 400 }
        try await alerts.bring([Warning(1), Warning(2)])
        alerts.room.hub.answer { _ in 201 }
        try await alerts.bring([Warning(3, "Cancel", [1]), Warning(4, "Update", [2])])
        #expect(alerts.room.hub.titles == ["Update 4"])
        #expect(try alerts.properties()[0]["replaces"] == nil)
    }

    @Test func `an alert that expires before the hub is back is not sent`() async throws {
        let alerts = try await AlertRoom()
        alerts.room.hub.answer { _ in 503 }
        var brief = Warning(2)
        brief.expires = 600
        alerts.publish("/w", [brief, Warning(1)])
        try await alerts.pass()
        alerts.room.hub.answer { _ in 201 }
        try await alerts.pass(900)
        #expect(alerts.room.hub.titles == ["Alert 1"])
        #expect(alerts.room.lines().contains("notice: the alert 'Alert 2' for Weather expired before it could be sent"))
    }

    @Test func `an alert that expires while the messages before it are sent is not sent`() async throws {
        let alerts = try await AlertRoom()
        let room = alerts.room
        room.hub.answer { _ in
            room.advance(900)
            return 201
        }
        var brief = Warning(2)
        brief.expires = 600
        alerts.publish("/w", [brief, Warning(1)])
        try await alerts.pass()
        #expect(room.hub.titles == ["Alert 1"])
        #expect(room.lines().contains("notice: the alert 'Alert 2' for Weather expired before it could be sent"))
    }

    @Test func `an update that has expired ends what it replaces, shown or waiting`() async throws {
        let alerts = try await AlertRoom()
        try await alerts.bring([Warning(1)])
        // Attempted, and so no more to be changed; what follows is not.
        alerts.room.hub.answer { _ in 503 }
        try await alerts.bring([Warning(9)])
        try await alerts.bring([Warning(2)])
        var (first, second) = (Warning(3, "Update", [1]), Warning(4, "Update", [2]))
        first.expires = -60
        second.expires = -60
        try await alerts.bring([first, second])
        alerts.room.hub.answer { _ in 201 }
        try await alerts.bring([Warning(6, "Cancel", [3]), Warning(7, "Cancel", [4])])
        #expect(alerts.room.hub.titles == ["Alert 1", "Alert 9", "Cancelled: Alert 1"])
    }

    @Test(arguments: [true, false])
    func `an alert that becomes a cancel in its place is taken back, once`(isNamed: Bool) async throws {
        let alerts = try await AlertRoom()
        func flood(_ type: String) -> Warning {
            var warning = Warning(1, type, headline: "Flood")
            warning.isNamed = isNamed
            return warning
        }
        try await alerts.bring([flood("Alert")])
        for _ in 1...2 { try await alerts.bring([flood("Cancel")]) }
        #expect(alerts.room.hub.titles == ["Flood", "Cancelled: Flood"])
    }

    // MARK: How they look

    @Test(arguments: [
        ("Immediate", "Minor", "critical"), ("Future", "Extreme", "critical"), ("Expected", "Severe", nil),
    ])
    func `an alert that demands immediate action is marked urgent`(urgency: String, severity: String, expected: String?)
        async throws
    {
        let alerts = try await AlertRoom()
        var warning = Warning(1)
        warning.urgency = urgency
        warning.severity = severity
        try await alerts.bring([warning])
        #expect(try alerts.properties()[0]["urgency"] == expected)
    }

    @Test func `warnings of several areas may share headline and page`() async throws {
        let alerts = try await AlertRoom(["/a", "/b"])
        let headline = "Severe thunderstorm warning issued this evening"
        try await alerts.bring([Warning(1, headline: headline), Warning(2, headline: headline)], to: "/a")
        try await alerts.bring([Warning(3, headline: headline)], to: "/b")
        #expect(alerts.room.hub.messages.count == 3)
        #expect(Set(try alerts.properties().map { $0["story"] }).count == 3)
    }

    @Test func `alerts without identifiers may share a headline, and are known by their pages`() async throws {
        let alerts = try await AlertRoom(["/a", "/b"])
        func unnamed(_ number: Int) -> Warning {
            var warning = Warning(number, headline: "Severe thunderstorm warning issued this evening")
            warning.isNamed = false
            return warning
        }
        try await alerts.bring([unnamed(1)], to: "/a")
        try await alerts.bring([unnamed(2), unnamed(1)], to: "/b")
        #expect(alerts.room.hub.messages.count == 2)
        #expect(Set(try alerts.properties().map { $0["story"] }).count == 2)
    }
}
