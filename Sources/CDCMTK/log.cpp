#include "shim.hpp"

#include "dcmtk/oflog/appender.h"
#include "dcmtk/oflog/oflog.h"
#include "dcmtk/oflog/spi/logevent.h"

namespace {

/// Where the warnings of this thread go while a decoder runs.
thread_local std::string *kept_words = nullptr;

/// Takes the place of DCMTK's console output. Nothing is ever written; one kind of warning is kept for its decoder.
class Listener : public dcmtk::log4cplus::Appender {
  public:
    ~Listener() override { destructorImpl(); }

    void close() override { closed = true; }

  protected:
    void append(const dcmtk::log4cplus::spi::InternalLoggingEvent &event) override {
        if (!kept_words || !kept_words->empty()) return;
        const std::string words(event.getMessage().c_str());
        if (cdcmtk::tells_of_damage(words)) *kept_words = words;
    }
};

}  // namespace

bool cdcmtk::tells_of_damage(const std::string &words) {
    const std::string beginning = "Corrupt JPEG data: ";
    if (words.compare(0, beginning.size(), beginning) != 0) return false;
    // Some honest writers leave a few bytes of padding; more means that the decoder has lost its place.
    const std::string rest = words.substr(beginning.size());
    if (rest.find("extraneous bytes") == std::string::npos) return true;
    return std::strtoul(rest.c_str(), nullptr, 10) > 4;
}

void cdcmtk::silence_log() {
    OFLog::configure(OFLogger::WARN_LOG_LEVEL);
    dcmtk::log4cplus::Logger root = dcmtk::log4cplus::Logger::getRoot();
    root.removeAllAppenders();
    root.addAppender(dcmtk::log4cplus::SharedAppenderPtr(new Listener));
}

cdcmtk::DecoderWords::DecoderWords() { kept_words = &words; }

cdcmtk::DecoderWords::~DecoderWords() { kept_words = nullptr; }
