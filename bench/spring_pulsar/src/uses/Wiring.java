package uses;

import java.util.List;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.pulsar.annotation.EnablePulsar;
import org.springframework.pulsar.config.ConcurrentPulsarListenerContainerFactory;
import org.springframework.pulsar.config.DefaultPulsarReaderContainerFactory;
import org.springframework.pulsar.core.DefaultPulsarClientFactory;
import org.springframework.pulsar.core.DefaultPulsarConsumerFactory;
import org.springframework.pulsar.core.DefaultPulsarProducerFactory;
import org.springframework.pulsar.core.DefaultPulsarReaderFactory;
import org.springframework.pulsar.core.PulsarAdministration;
import org.springframework.pulsar.core.PulsarTemplate;
import org.springframework.pulsar.core.PulsarTopic;
import org.springframework.pulsar.listener.PulsarContainerProperties;
import org.springframework.pulsar.reader.PulsarReaderContainerProperties;

/** What Spring Boot would make of `spring.pulsar.*`, written out. */
@Configuration
@EnablePulsar
class Wiring {
    @Bean(destroyMethod = "close")
    PulsarClient client() throws PulsarClientException {
        return new DefaultPulsarClientFactory(System.getProperty("service.url")).createClient();
    }

    @Bean
    PulsarAdministration administration() {
        return new PulsarAdministration(System.getProperty("admin.url"));
    }

    @Bean
    PulsarTopic partitioned() {
        return PulsarTopic.builder("partitioned").numberOfPartitions(3).build();
    }

    @Bean
    PulsarTemplate<Object> template(PulsarClient client) {
        return new PulsarTemplate<>(new DefaultPulsarProducerFactory<>(client));
    }

    @Bean
    ConcurrentPulsarListenerContainerFactory<Object> pulsarListenerContainerFactory(PulsarClient client) {
        return new ConcurrentPulsarListenerContainerFactory<>(
                new DefaultPulsarConsumerFactory<>(client, List.of()), new PulsarContainerProperties());
    }

    @Bean
    DefaultPulsarReaderContainerFactory<Object> pulsarReaderContainerFactory(PulsarClient client) {
        return new DefaultPulsarReaderContainerFactory<>(
                new DefaultPulsarReaderFactory<>(client, List.of()), new PulsarReaderContainerProperties());
    }

    @Bean
    Listeners listeners() {
        return new Listeners();
    }
}
