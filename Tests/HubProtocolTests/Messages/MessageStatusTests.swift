import Testing

@testable import HubProtocol

@Suite struct MessageStatusTests {
    @Test(arguments: [
        "RETRACTED: Bridge reopens", "Withdrawn: Bridge reopens", "Cancelled: Flood", "[Withdrawn] Bridge reopens",
        "Retraction note: Cells", "Retracted Article: Cells", "Bridge reopens (corrected)",
        "Bridge reopens - CORRECTION",
        "Correction to: Cells", "Bridge reopens, corrected", "Withdrawn",
    ])
    func `a title that says itself that it is withdrawn or corrected is not marked again`(title: String) {
        for status in MessageStatus.allCases { #expect(status.marking(title) == title) }
    }

    @Test(arguments: [
        "Bridge reopens", "Withdrawal of troops begins", "Troops withdrawn from border", "", ": -",
        "Court: judge retracted a confession",
    ])
    func `other titles are marked once`(title: String) {
        #expect(MessageStatus.withdrawn.marking(title) == "Withdrawn: \(title)")
        #expect(MessageStatus.correction.marking(title) == "Correction: \(title)")
        #expect(MessageStatus.update.marking(title) == title)
        #expect(MessageStatus.withdrawn.marking("Withdrawn: \(title)") == "Withdrawn: \(title)")
    }
}
