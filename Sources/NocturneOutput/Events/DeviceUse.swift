package import NocturneConcurrency
import NocturneSystem

/// How busy the device of the networks was lately, such as a GPU. The shares add up to 1.
public struct DeviceUse: Codable, Sendable, Equatable {
    /// The share of the time in which a network ran, from 0 to 1.
    public let busy: Double
    /// In which it waited for the processor within an item: labels of finished planes, the grid of the next part.
    public let waitingForProcessor: Double
    /// In which it waited for an item that is read and prepared.
    public let waitingForItems: Double

    /// Between two readings of a meter.
    /// - Returns: nil if no network has ever run on a device, or no time has passed.
    package init?(from earlier: DeviceMeter.Reading, to later: DeviceMeter.Reading, in time: Duration) {
        guard later.running > .zero, time > .zero else { return nil }
        func share(_ part: Duration) -> Double { max(part.inSeconds / time.inSeconds, 0) }
        // A run or a step that ends in this time may have begun before it.
        let busy = min(share(later.running - earlier.running), 1)
        let inference = min(max(share(later.inference - earlier.inference), busy), 1)
        self.busy = Self.rounded(busy)
        waitingForProcessor = Self.rounded(inference - busy)
        waitingForItems = Self.rounded(1 - inference)
    }

    private static func rounded(_ share: Double) -> Double { (share * 1000).rounded() / 1000 }

    /// For a person, without a full stop.
    public var text: String {
        func percent(_ share: Double) -> String { "\(Int((100 * share).rounded())) %" }
        return "busy \(percent(busy)) of the time, \(percent(waitingForProcessor)) waiting for the processor, "
            + "\(percent(waitingForItems)) for items"
    }
}
