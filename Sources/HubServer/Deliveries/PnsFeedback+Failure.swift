import Foundation
import HubProtocol
import HubRouting
import HubStore

extension PnsFeedback {
    /// Describes a target that was not sent a message.
    init(_ target: FailedTarget, on platform: Platform, of message: MessageID) {
        self.init(
            feedbackTime: Date(timeIntervalSince1970: Double(target.at.seconds)),
            notificationSystemError: target.failure.outcome,
            platform: MessageFormat(of: platform),
            pnsHandle: target.handle ?? ""
        )
        registrationID = target.registration
        installationID = target.installation
        notificationID = message
    }
}
