#include "shim.hpp"

#include "dcmtk/oflog/appender.h"
#include "dcmtk/oflog/oflog.h"
#include "dcmtk/oflog/spi/logevent.h"

namespace {

/// Receives the first warning of this thread that indicates damage while a decoder runs.
thread_local std::string *kept_warning = nullptr;

/// Whether a warning indicates that the decoded image differs from the original.
bool indicates_damage(const std::string &warning) {
    const std::string beginning = "Corrupt JPEG data: ";
    if (warning.compare(0, beginning.size(), beginning) != 0) return false;
    // Some writers add a few bytes of padding there; more indicates that the decoder has lost synchronization.
    const std::string rest = warning.substr(beginning.size());
    if (rest.find("extraneous bytes") == std::string::npos) return true;
    return std::strtoul(rest.c_str(), nullptr, 10) > 4;
}

/// Replaces DCMTK's console output. Nothing is ever written; one kind of warning is stored for its decoder.
class WarningAppender : public dcmtk::log4cplus::Appender {
  public:
    ~WarningAppender() override { destructorImpl(); }

    void close() override { closed = true; }

  protected:
    void append(const dcmtk::log4cplus::spi::InternalLoggingEvent &event) override {
        if (!kept_warning || !kept_warning->empty()) return;
        const std::string warning(event.getMessage().c_str());
        if (indicates_damage(warning)) *kept_warning = warning;
    }
};

}  // namespace

void cdcmtk::silence_log() {
    OFLog::configure(OFLogger::WARN_LOG_LEVEL);
    dcmtk::log4cplus::Logger root = dcmtk::log4cplus::Logger::getRoot();
    root.removeAllAppenders();
    root.addAppender(dcmtk::log4cplus::SharedAppenderPtr(new WarningAppender));
}

cdcmtk::DamageWarningScope::DamageWarningScope() { kept_warning = &text; }

cdcmtk::DamageWarningScope::~DamageWarningScope() { kept_warning = nullptr; }
