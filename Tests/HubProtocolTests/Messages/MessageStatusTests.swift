import Testing

@testable import HubProtocol

@Suite struct MessageStatusTests {
    @Test(arguments: [
        "RETRACTED: Bridge reopens", "Withdrawn: Bridge reopens", "Cancelled: Flood", "[Withdrawn] Bridge reopens",
        "Retraction note: Cells", "Retracted Article: Cells", "Withdrawn", "Withdrawal of: Cells",
        "Retraction notice: Cells", "Bridge reopens (cancelled)",
    ])
    func `a title that says itself that it is withdrawn is not marked again`(title: String) {
        for status in MessageStatus.allCases { #expect(status.marking(title) == title) }
    }

    @Test(arguments: [
        "Bridge reopens (corrected)", "Bridge reopens - CORRECTION", "Correction to: Cells",
        "Bridge reopens, corrected",
        "Correction: mayor resigns",
    ])
    func `a title that says itself that it is corrected is marked if it is withdrawn`(title: String) {
        #expect(MessageStatus.correction.marking(title) == title)
        #expect(MessageStatus.update.marking(title) == title)
        #expect(MessageStatus.withdrawn.marking(title) == "Withdrawn: \(title)")
    }

    @Test(arguments: [
        "Bridge reopens", "Withdrawal of troops begins", "Troops withdrawn from border", "", ": -",
        "Court: judge retracted a confession", "Cancelled flights: airline apologises",
        "Withdrawal agreement: what it says", "Correction facility: inmates flee", "Troops leave: withdrawn today",
    ])
    func `other titles are marked once`(title: String) {
        #expect(MessageStatus.withdrawn.marking(title) == "Withdrawn: \(title)")
        #expect(MessageStatus.correction.marking(title) == "Correction: \(title)")
        #expect(MessageStatus.update.marking(title) == title)
        #expect(MessageStatus.withdrawn.marking("Withdrawn: \(title)") == "Withdrawn: \(title)")
    }
}
