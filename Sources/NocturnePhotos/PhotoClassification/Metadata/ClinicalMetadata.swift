import Foundation
import NocturneRecipeSupport
public import NocturneSystem

/// Metadata of the person in a picture, limited to what classifiers take.
public struct ClinicalMetadata: Hashable, Sendable, Codable {
    public enum Sex: String, Hashable, Sendable, Codable, CaseIterable { case male, female, unknown }

    /// In years; nil if missing.
    public let age: Double?
    public let sex: Sex
    /// One of the package's sites; ``PhotoMetadataSettings/unknownSite`` if missing.
    public let site: String

    public static let unknown = ClinicalMetadata(age: nil, sex: .unknown, site: PhotoMetadataSettings.unknownSite)

    package init(age: Double?, sex: Sex, site: String) {
        self.age = age
        self.sex = sex
        self.site = site
    }

    /// The classifier's input: age / 100 clamped to 0…1, or 0 if missing; 1 if the age is missing, else 0; 0 male, 1
    /// female, 2 unknown; the index of the site.
    public func vector(_ settings: PhotoMetadataSettings) -> [Float] {
        let index = settings.sites.firstIndex(of: site) ?? 0
        let code: Float =
            switch sex {
            case .male: 0
            case .female: 1
            case .unknown: 2
            }
        return [Float(min(max((age ?? 0) / 100, 0), 1)), age == nil ? 1 : 0, code, Float(index)]
    }

    /// Formats an age, without decimals if it is whole.
    static func text(_ age: Double) -> String {
        age == age.rounded() && abs(age) < 1e6 ? "\(Int(age))" : "\(age)"
    }
}

/// A field that cannot be parsed.
public struct ClinicalMetadataError: CodedError, Hashable, Sendable, CustomStringConvertible {
    public let detail: String
    public var faultCode: FaultCode { FaultCode("metadata", "invalid") }
    public var description: String { detail }
}
