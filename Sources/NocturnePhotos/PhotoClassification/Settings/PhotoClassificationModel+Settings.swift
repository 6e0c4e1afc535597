package import NocturneCore
package import NocturneInference
package import NocturneNumerics
import NocturneSystem

extension PhotoClassificationModel {
    /// How a model that classifies photos is applied.
    package struct Settings: Hashable, Sendable {
        /// What the classifier's first output holds.
        package enum Output: String, Hashable, Sendable, CaseIterable {
            /// The classifier's first output holds logits; softmax is applied.
            case logits
            /// It already holds probabilities.
            case probabilities
        }

        /// Side of the square picture the classifier takes, in pixels.
        package let inputSize: Int
        /// How a photo becomes this square.
        package let fitting: Fitting
        /// Pictures whose shorter side has fewer pixels are refused.
        package let minimumSide: Int
        /// How colours become the classifier's input, after ``usesColorConstancy``.
        package let colors: NetworkColors
        /// Whether colours are corrected by Shades of Gray with the Minkowski norm 6.
        package let usesColorConstancy: Bool
        /// Whether results concern people's health and carry the disclaimer. True unless the package sets it.
        package let isMedical: Bool
        /// What the classifier's first output holds.
        package var output: Output
        /// In the order of the classifier's output.
        package var classes: [Class]
        /// Nil if no class is a risk.
        package var risk: Risk?
        /// A result is noted as uncertain when no class reaches this probability,
        package var lowConfidence: Double
        /// or when the first is less than this ahead of the second.
        package var minimumLead: Double
        /// Those that the classifier's metadata input takes; nil for a classifier without one.
        package let metadata: BodySites?
        /// Paths among ``ModelPackage/files``.
        package let classifier: String
        /// The attention graph; nil for none.
        package let attention: String?
    }
}

extension PhotoClassificationModel.Settings {
    /// How a photo becomes the square input of the classifier.
    package enum Fitting: Hashable, Sendable {
        /// The largest square in its middle is scaled.
        case square
        /// The whole photo is scaled, whatever its proportions.
        case stretch
        /// The whole photo is scaled until its shorter side has this number of pixels; the square in its middle is cut out.
        case crop(shorterSide: Int)
    }

    /// The part of a photo that is scaled, and to which size. The square in the middle of that is the input.
    func scaling(width: Int, height: Int) -> (part: PixelBox, width: Int, height: Int) {
        let whole = PixelBox(x: 0, y: 0, width: width, height: height)
        switch fitting {
        case .square: return (.centreSquare(width: width, height: height), inputSize, inputSize)
        case .stretch: return (whole, inputSize, inputSize)
        case .crop(let side):
            // As torchvision's Resize: the longer side is rounded down.
            let shorter = min(width, height)
            return (whole, width * side / shorter, height * side / shorter)
        }
    }

    /// The square of a photo that the classifier gets, in whole pixels; nil where it gets the whole photo.
    func square(width: Int, height: Int) -> PixelBox? {
        switch fitting {
        case .square: PixelBox.centreSquare(width: width, height: height)
        case .stretch: nil
        case .crop(let side):
            PixelBox.centreSquare(width: width, height: height, side: max(min(width, height) * inputSize / side, 1))
        }
    }
}

extension PhotoClassificationModel.Settings {
    /// A class of photos.
    package struct Class: Hashable, Sendable {
        /// Safe as a file name, unique in the package.
        package let name: String
        /// For display, in lower case unless it is a proper name.
        package let title: String
        /// Whether a high score may mean a moderate risk.
        package let isMalignant: Bool
        /// In reports.
        package let color: LabelColor

        /// - Parameter title: 1 to 80 characters.
        package init(name: String, title: String, isMalignant: Bool, color: LabelColor) {
            self.name = name
            self.title = title
            self.isMalignant = isMalignant
            self.color = color
        }
    }

    /// When a result has a high or moderate risk. A score equal to a threshold reaches its level.
    package struct Risk: Hashable, Sendable {
        /// Names of classes that mean a high risk from ``highThreshold`` on.
        package let highClasses: [String]
        /// 0...1.
        package let highThreshold: Double
        /// From this score on, any malignant class means a moderate risk.
        package let moderateThreshold: Double

        /// Thresholds in 0...1.
        package init(highClasses: [String], highThreshold: Double, moderateThreshold: Double) {
            self.highClasses = highClasses
            self.highThreshold = highThreshold
            self.moderateThreshold = moderateThreshold
        }
    }
}

extension PhotoClassificationModel.Settings: ModelSettings {
    /// The key of the task's section in `model.json`.
    static let section = "photoClassification"

    package init(_ package: ModelPackage) throws(ModelPackageError) {
        self = try package.section(Self.section) { section throws(JSONFields.Fault) in
            try PhotoClassificationModel.Settings(section, of: package)
        }
    }

    /// The classifier, and the attention graph if there is one.
    package var networks: [String] { [classifier] + [attention].compactMap { $0 } }
}
